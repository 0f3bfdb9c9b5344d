import {
  closeSync,
  createReadStream,
  type Dirent,
  openSync,
  readdirSync,
  readSync,
  statSync,
} from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { isObject } from "../core/receipt-check.ts";

/** One answer of Caddy's that CrawlWall was asked about. */
export interface AccessLine {
  /** `Crawlwall-Request-Id` of the answer. */
  readonly requestId: string;
  /** Lower-case, without port. */
  readonly host: string;
  readonly status: number;
  /** Of the body, as sent. */
  readonly bytes: number;
  /** When it was logged; undefined where the log says it in a way of its own. */
  readonly atMs: number | undefined;
}

/** A line of a log: an answer, something else, or what cannot be read. */
export type AccessRead =
  | { readonly kind: "answer"; readonly line: AccessLine }
  | { readonly kind: "other" }
  | { readonly kind: "unreadable" }
  /** The end of a file that is still being written, or was cut off. */
  | { readonly kind: "partial" };

/**
 * Reads Caddy's JSON access log, a plain or a compressed file; `-` is stdin. Throws where the file
 * cannot be read.
 */
export async function* readAccessLog(file: string): AsyncGenerator<AccessRead> {
  // A line is judged when the next one shows that it was not the last.
  let previous: string | undefined;
  try {
    const input = file === "-" ? process.stdin : openFile(file);
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      if (previous !== undefined) yield readLine(previous, "unreadable");
      previous = line;
    }
  } catch (error) {
    if (!isCutOff(error)) throw error;
  }
  if (previous !== undefined) yield readLine(previous, "partial");
}

/** A compressed file that ends too early: it was being written, or the disk was full. */
function isCutOff(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "Z_BUF_ERROR";
}

function openFile(file: string): Readable {
  const magic = firstBytes(file);
  const raw = createReadStream(file);
  const decompress = magic.startsWith("1f8b")
    ? createGunzip()
    : magic === "28b52ffd"
      ? createZstdDecompress()
      : undefined;
  if (decompress === undefined) return raw;
  raw.on("error", (error) => decompress.destroy(error));
  return raw.pipe(decompress);
}

/** In hex: what a file is, whatever its name says. */
function firstBytes(file: string): string {
  const handle = openSync(file, "r");
  try {
    const bytes = Buffer.alloc(4);
    return bytes.subarray(0, readSync(handle, bytes, 0, 4, 0)).toString("hex");
  } finally {
    closeSync(handle);
  }
}

const ID_FIELD = "Crawlwall-Request-Id";

function readLine(text: string, kind: "unreadable" | "partial"): AccessRead {
  if (text.trim() === "") return { kind: "other" };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind };
  }
  const line = isObject(value) ? answerOf(value) : undefined;
  return line === undefined ? { kind: "other" } : { kind: "answer", line };
}

function answerOf(entry: Readonly<Record<string, unknown>>): AccessLine | undefined {
  const { resp_headers: headers, request, status, size, ts } = entry;
  if (!isObject(headers) || !isObject(request) || typeof status !== "number") return undefined;
  const ids = headers[ID_FIELD];
  const requestId: unknown = Array.isArray(ids) ? ids[0] : undefined;
  if (typeof requestId !== "string") return undefined;
  return {
    requestId,
    host: typeof request.host === "string" ? hostOf(request.host) : "",
    status,
    bytes: typeof size === "number" ? size : 0,
    atMs: timeOf(ts),
  };
}

function hostOf(authority: string): string {
  return authority.toLowerCase().replace(/:\d+$/, "").replace(/\.$/, "");
}

/** Caddy writes seconds since the epoch, unless its `time_format` says otherwise. */
function timeOf(ts: unknown): number | undefined {
  const ms = typeof ts === "number" ? ts * 1000 : Date.parse(typeof ts === "string" ? ts : "");
  return Number.isNaN(ms) ? undefined : Math.floor(ms);
}

/**
 * The files of a log, oldest first: those that were rotated away, by Caddy (`access-2026-….log.gz`) or
 * by logrotate (`access.log.1`), then the one that is written.
 */
export function logFiles(file: string): readonly string[] {
  if (file === "-") return [file];
  const folder = dirname(file);
  const name = basename(file);
  const stem = name.slice(0, name.length - extname(name).length);
  const rotated = entriesOf(folder)
    .filter((entry) => entry.isFile() && isRotated(entry.name, name, stem))
    .map((entry) => join(folder, entry.name))
    .map((path) => ({ path, at: statSync(path).mtimeMs }))
    .sort((left, right) => left.at - right.at);
  return [...rotated.map(({ path }) => path), file];
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // The file itself will say what is wrong.
    return [];
  }
}

function isRotated(entry: string, name: string, stem: string): boolean {
  const plain = entry.replace(/\.(?:gz|zst)$/, "");
  if (plain.startsWith(`${name}.`)) return /^\d+$/.test(plain.slice(name.length + 1));
  const rest = plain.startsWith(`${stem}-`) ? plain.slice(stem.length + 1) : "";
  return /^\d{4}-\d{2}-\d{2}T/.test(rest) && rest.endsWith(extname(name));
}
