import { plainPathEnd, readingsOf, toText } from "./readings.ts";

/** The path and query that a client asked for, and each way in which an upstream may read the path. */
export interface Target {
  /** The path as received, cut at the first `?` or `#`. */
  readonly rawPath: string;
  /** Without the `?`; empty when there is none. */
  readonly query: string;
  /** Distinct readings of the path (contract 4, Paths). The first one is canonical: `request.path`. */
  readonly readings: readonly [string, ...string[]];
}

/** Why a target is not judged but refused: a path that cannot be read (400) or is over 8 KiB (414). */
export interface MalformedTarget {
  readonly kind: "malformed";
  readonly status: 400 | 414;
  readonly reason: "malformed_path" | "path_too_long";
  /** What came, for the record; not cut, not cleaned. */
  readonly rawPath: string;
  readonly query: string;
}

export type TargetResult = { readonly kind: "target"; readonly target: Target } | MalformedTarget;

/** The longest path that is judged, in bytes; the query does not count. */
const MAX_PATH_LENGTH = 8192;

/**
 * Reads X-Forwarded-Uri: byte text, each character one byte, as Node hands out header values
 * (`toByteText` makes it of Unicode). Scheme and authority of an absolute form are cut. The path and
 * query of the result are Unicode, with bytes that are not UTF-8 percent-encoded.
 */
export function parseTarget(uri: string, caseInsensitive: boolean): TargetResult {
  const end = plainPathEnd(uri);
  if (end < 0 || end > MAX_PATH_LENGTH) return parseUnusual(cutOrigin(uri), caseInsensitive);
  const path = copyOf(uri, 0, end);
  const readings = caseInsensitive ? withLowerCase([path]) : ([path] as const);
  return { kind: "target", target: { rawPath: path, query: queryAt(uri, end), readings } };
}

function parseUnusual(uri: string, caseInsensitive: boolean): TargetResult {
  const found = uri.search(/[?#]/);
  const end = found < 0 ? uri.length : found;
  const path = uri.slice(0, end);
  const rawPath = toText(path);
  const query = queryAt(uri, end);
  if (path.length > MAX_PATH_LENGTH) {
    return { kind: "malformed", status: 414, reason: "path_too_long", rawPath, query };
  }
  const readings = isTarget(path) ? readingsOf(path) : undefined;
  if (readings === undefined || /\p{Cc}/u.test(readings[0])) {
    return { kind: "malformed", status: 400, reason: "malformed_path", rawPath, query };
  }
  const all = caseInsensitive ? withLowerCase(readings) : readings;
  return { kind: "target", target: { rawPath, query, readings: all } };
}

/** Without `http://authority`, in any case; also of `http:/x` and `http:///x`. */
function cutOrigin(uri: string): string {
  const scheme = /^https?:/i.exec(uri)?.[0];
  if (scheme === undefined) return uri;
  const rest = uri.slice(scheme.length);
  if (!rest.startsWith("//")) return rest;
  // A backslash ends an authority for WHATWG parsers alone; what follows is then no path: refused.
  const path = rest.slice(2).search(/[/\\?#]/);
  return path < 0 ? "" : rest.slice(path + 2);
}

/** A path starts with a slash; a raw space, or a character that is no byte, no client can send. */
function isTarget(path: string): boolean {
  return path.startsWith("/") && !/[ \u0100-\uffff]/.test(path);
}

function queryAt(uri: string, end: number): string {
  if (uri[end] !== "?") return "";
  const fragment = uri.indexOf("#", end);
  return toText(copyOf(uri, end + 1, fragment < 0 ? uri.length : fragment));
}

/**
 * A part of a text as a text of its own. A slice would be a view that keeps the whole text alive and
 * that JSON.stringify has no fast way for, and an event is full of them.
 */
function copyOf(text: string, start: number, end: number): string {
  if (start === 0 && end === text.length) return text;
  return [text.slice(start, start + 1), text.slice(start + 1, end)].join("");
}

function withLowerCase(readings: readonly [string, ...string[]]): readonly [string, ...string[]] {
  const [canonical, ...rest] = readings;
  const others = new Set([...rest, ...readings.map((reading) => reading.toLowerCase())]);
  others.delete(canonical);
  return [canonical, ...others];
}
