import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { resolve } from "node:path";
import {
  ADDRESS_FORMATS,
  type AddressFormat,
  DEFAULT_ADDRESS_FORMAT,
  parseAddressDocument,
} from "../../core/bot/address-document.ts";
import type { AddressSource } from "../../core/bot/bot.ts";
import { type Fetched, fetchDocument, withoutCredentials } from "./guarded-fetch.ts";

/** Where a list comes from and how it is read. */
export type ListOrigin = {
  /** Tells one origin from another. */
  readonly key: string;
  /** For people: the URL without credentials, or the path. */
  readonly label: string;
  readonly format: AddressFormat;
  readonly pointer: string | undefined;
} & (
  | { readonly kind: "url"; readonly url: string }
  | { readonly kind: "file"; readonly path: string }
);

/** What came of reading an origin. */
export type OriginRead =
  | {
      readonly kind: "document";
      readonly entries: readonly string[];
      /** The first digits of the document's SHA-256. */
      readonly version: string;
      readonly etag: string | undefined;
      readonly url: string;
    }
  | { readonly kind: "unchanged" }
  | { readonly kind: "failed"; readonly cause: string };

export interface OriginReadOptions {
  readonly allowInsecure: boolean;
  readonly etag: string | undefined;
  readonly signal: AbortSignal;
}

const MAX_BYTES = 8 * 1024 * 1024;
const TIMEOUT_MS = 10_000;
const MAX_REDIRECTS = 5;

/** Reads a source of the policy; paths are relative to `folder`, that of the policy file. */
export function createOrigin(source: AddressSource, folder: string): ListOrigin {
  const format = ADDRESS_FORMATS.find((known) => known === source.format) ?? DEFAULT_ADDRESS_FORMAT;
  const { pointer } = source;
  const where =
    source.kind === "url"
      ? { kind: source.kind, url: source.url, label: labelOf(source.url) }
      : { kind: source.kind, path: resolve(folder, source.file), label: source.file };
  const place = where.kind === "url" ? where.url : where.path;
  return { ...where, format, pointer, key: JSON.stringify([place, format, pointer ?? null]) };
}

function labelOf(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null || (parsed.username === "" && parsed.password === "")
    ? url
    : withoutCredentials(parsed);
}

/** Reads the document and takes its entries out. Never rejects. */
export async function readOrigin(
  origin: ListOrigin,
  options: OriginReadOptions,
): Promise<OriginRead> {
  const fetched = await get(origin, options);
  if (fetched.kind !== "document") return fetched;
  const document = parseAddressDocument(
    fetched.body.toString("utf8"),
    origin.format,
    origin.pointer,
  );
  if (document.kind === "unreadable") {
    return { kind: "failed", cause: `the document ${document.reason}` };
  }
  const version = createHash("sha256").update(fetched.body).digest("hex").slice(0, 16);
  return {
    kind: "document",
    entries: document.entries,
    version,
    etag: fetched.etag,
    url: fetched.url,
  };
}

type Body = Pick<Extract<Fetched, { kind: "document" }>, "kind" | "body" | "etag" | "url">;

async function get(
  origin: ListOrigin,
  options: OriginReadOptions,
): Promise<Body | Exclude<Fetched, { kind: "document" }>> {
  if (origin.kind === "url") {
    return await fetchDocument(origin.url, {
      ...options,
      maxBytes: MAX_BYTES,
      timeoutMs: TIMEOUT_MS,
      maxRedirects: MAX_REDIRECTS,
      accept: "application/json, text/plain;q=0.9, */*;q=0.5",
    });
  }
  try {
    const body = await readCapped(origin.path);
    return { kind: "document", body, etag: undefined, url: origin.label };
  } catch (error) {
    return { kind: "failed", cause: error instanceof Error ? error.message : String(error) };
  }
}

/** Reads a file without ever holding more of it than is allowed: it may be a device or a pipe. */
async function readCapped(path: string): Promise<Buffer> {
  const handle = await open(path, "r");
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw new Error("is not a file");
    if (stat.size > MAX_BYTES) throw new Error(`is larger than ${MAX_BYTES} bytes`);
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}
