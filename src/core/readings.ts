import { isUtf8 } from "node:buffer";
import { hexValue } from "./address-text.ts";

/*
 * A "byte text" is a string whose characters are bytes (latin-1), as Node hands out header values.
 * Paths are decoded as bytes and become Unicode at the end, so that an escape sequence that is split
 * between raw and encoded bytes, or is no UTF-8 at all, is read as an upstream reads it.
 */

/**
 * Every way in which an upstream may read a raw path (contract 4, Paths), as Unicode, in the order
 * of the contract; the first is canonical. Undefined when the path has a `%` without two hexadecimal
 * digits. The work is linear in the length.
 */
export function readingsOf(rawPath: string): readonly [string, ...string[]] | undefined {
  const only = onlyReadingOf(rawPath);
  if (only !== undefined) return [only];
  const once = percentDecode(rawPath);
  if (once === undefined) return undefined;
  const readings = new Set(cleanings(once)).add(once);
  for (const path of furtherDecodings(rawPath, once)) {
    for (const text of path === once ? [] : cleanings(path)) readings.add(text);
  }
  const [canonical = once, ...rest] = Array.from(readings, toText);
  return [canonical, ...rest];
}

/**
 * The one reading of a path that is encoded and no more than that, which is most of those that are
 * not plain; undefined where there may be others.
 */
function onlyReadingOf(rawPath: string): string | undefined {
  if (!/^[!-~]*$/.test(rawPath)) return undefined;
  const text = decodeUtf8Escapes(rawPath);
  return text === undefined || /[%;\\]|\/[/.]/.test(text) ? undefined : text;
}

/** Undefined where an escape is none, or not of UTF-8. */
function decodeUtf8Escapes(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/** What else the path is for those who decode twice, strip parameters, or turn backslashes. */
function furtherDecodings(rawPath: string, once: string): Iterable<string> {
  // Most paths that are encoded at all hold a space or an accent, and nothing is to be added.
  if (!/[%;\\]/.test(once)) return [];
  const twice = percentDecode(once);
  const stripped = percentDecode(stripParameters(rawPath));
  const paths = new Set<string>();
  if (twice !== undefined) paths.add(twice);
  if (stripped !== undefined) paths.add(stripped);
  paths.add(stripParameters(once)).add(foldBackslashes(once));
  if (twice !== undefined) paths.add(foldBackslashes(stripParameters(twice)));
  return paths;
}

/**
 * Where the path of a target ends, at `?`, `#` or the end, when it is plain: it has one reading,
 * itself. Else -1; then `readingsOf` tells.
 */
export function plainPathEnd(target: string): number {
  if (target.charCodeAt(0) !== SLASH) return -1;
  let previous = 0;
  for (let index = 0; index < target.length; index++) {
    const code = target.charCodeAt(index);
    const kind = KINDS[code];
    if (kind === END) return index;
    if (kind !== PLAIN || (previous === SLASH && isOddStart(target, index, code))) return -1;
    previous = code;
  }
  return target.length;
}

const SLASH = 0x2f;
const DOT = 0x2e;

const PLAIN = 0;
const END = 1;
const ODD = 2;

/** By character code: what ends a path, and what gives it more than one reading. */
const KINDS: Uint8Array = Uint8Array.from({ length: 256 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (character === "?" || character === "#") return END;
  return code <= 0x20 || code >= 0x7f || "%;\\".includes(character) ? ODD : PLAIN;
});

/** Whether a segment that starts with this character is empty or may be a dot segment. */
function isOddStart(target: string, index: number, code: number): boolean {
  if (code !== DOT) return code === SLASH;
  const next = target.charCodeAt(index + 1);
  return Number.isNaN(next) || next === DOT || next === SLASH || KINDS[next] === END;
}

/** The byte text as Unicode; bytes that are not UTF-8 are percent-encoded. */
export function toText(bytes: string): string {
  if (!/[\u0080-\u00ff]/.test(bytes)) return bytes;
  const buffer = Buffer.from(bytes, "latin1");
  return isUtf8(buffer) ? buffer.toString("utf8") : toText(escapeInvalid(buffer));
}

/** Unicode as byte text: what a client sends for a path that a person wrote. */
export function toByteText(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

/** Decoded once; bytes that are not UTF-8 stay encoded. Undefined where a `%` encodes nothing. */
function percentDecode(bytes: string): string | undefined {
  if (!/[%\u0080-\u00ff]/.test(bytes)) return bytes;
  const decoded = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  for (let index = 0; index < bytes.length; index++) {
    let code = bytes.charCodeAt(index);
    if (code === 0x25) {
      const high = hexValue(bytes.charCodeAt(index + 1));
      const low = hexValue(bytes.charCodeAt(index + 2));
      if (high < 0 || low < 0) return undefined;
      code = high * 16 + low;
      index += 2;
    }
    decoded[length++] = code;
  }
  return escapeInvalid(decoded.subarray(0, length));
}

function escapeInvalid(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString("latin1");
  const escaped = Buffer.allocUnsafe(bytes.length * 3);
  let length = 0;
  let index = 0;
  while (index < bytes.length) {
    const end = index + sequenceLength(bytes, index);
    if (end === index) length = writeEscape(escaped, length, bytes[index++] ?? 0);
    while (index < end) escaped[length++] = bytes[index++] ?? 0;
  }
  return escaped.toString("latin1", 0, length);
}

/** Writes `%XX` and returns where it ends. */
function writeEscape(target: Buffer, at: number, byte: number): number {
  target[at] = 0x25;
  target[at + 1] = HEX_DIGITS.charCodeAt(byte >> 4);
  target[at + 2] = HEX_DIGITS.charCodeAt(byte & 15);
  return at + 3;
}

const HEX_DIGITS = "0123456789ABCDEF";

/** How many bytes the UTF-8 character at `index` takes (Unicode, table 3-7), 0 when it is none. */
function sequenceLength(bytes: Uint8Array, index: number): number {
  const first = bytes[index] ?? 0;
  if (first < 0x80) return 1;
  const [low, high] = secondByteRange(first);
  if (!isBetween(bytes[index + 1], low, high)) return 0;
  const length = 2 + Number(first >= 0xe0) + Number(first >= 0xf0);
  for (let offset = 2; offset < length; offset++) {
    if (!isBetween(bytes[index + offset], 0x80, 0xbf)) return 0;
  }
  return length;
}

/** What may follow a first byte: no overlong form, surrogate, or character beyond U+10FFFF. */
function secondByteRange(first: number): readonly [number, number] {
  if (first < 0xc2 || first > 0xf4) return [1, 0];
  if (first === 0xe0) return [0xa0, 0xbf];
  if (first === 0xed) return [0x80, 0x9f];
  if (first === 0xf0) return [0x90, 0xbf];
  return [0x80, first === 0xf4 ? 0x8f : 0xbf];
}

function isBetween(byte: number | undefined, low: number, high: number): boolean {
  return byte !== undefined && byte >= low && byte <= high;
}

/**
 * Both orders of tidying, since upstreams differ: slashes merged first (Caddy's file_server, nginx,
 * Go), and dot segments removed first (RFC 3986 5.2.4, WHATWG).
 */
function cleanings(path: string): readonly string[] {
  if (!path.includes("//") && !path.includes("/.")) return [path];
  return [removeDotSegments(mergeSlashes(path)), mergeSlashes(removeDotSegments(path))];
}

function mergeSlashes(path: string): string {
  return path.includes("//") ? path.replace(/\/+/g, "/") : path;
}

function removeDotSegments(path: string): string {
  if (!path.includes("/.")) return path;
  const segments = path.split("/").slice(1);
  const kept: string[] = [];
  for (const segment of segments) {
    if (segment === "..") kept.pop();
    else if (segment !== ".") kept.push(segment);
  }
  const last = segments.at(-1);
  if (last === "." || last === "..") kept.push("");
  return `/${kept.join("/")}`;
}

/** Without `;…` in each segment, as servlet containers read a path. */
function stripParameters(path: string): string {
  return path.includes(";") ? path.replace(/;[^/]*/g, "") : path;
}

function foldBackslashes(path: string): string {
  return path.replaceAll("\\", "/");
}
