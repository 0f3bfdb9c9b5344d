import { lookup } from "node:dns";
import type { IncomingMessage, RequestOptions } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import { isPublicAddress, parseAddress } from "../../core/cidr.ts";

// An import would read every name of the module, and for some of them load a whole fetch client.
const { request: requestHttp } = process.getBuiltinModule("node:http");

/** What a document may cost, and from where it may come. */
export interface FetchOptions {
  /** Of the body, as received. */
  readonly maxBytes: number;
  /** For the whole of it: every redirect, the last byte. */
  readonly timeoutMs: number;
  readonly maxRedirects: number;
  /** Lets plain http and addresses that are not public through. */
  readonly allowInsecure: boolean;
  readonly accept: string;
  /** The ETag of what is held already. */
  readonly etag?: string | undefined;
  /** Gives the request up from outside. */
  readonly signal?: AbortSignal;
}

export type Fetched =
  | {
      readonly kind: "document";
      readonly body: Buffer;
      readonly url: string;
      readonly etag: string | undefined;
      readonly contentType: string;
      readonly cacheControl: string;
    }
  | { readonly kind: "unchanged" }
  | { readonly kind: "failed"; readonly cause: string };

class FetchFault extends Error {}

/**
 * Gets a document over https from a public address, and follows redirects hop by hop under the same
 * rule, so that no answer can send us into a private network. Never rejects.
 */
export async function fetchDocument(url: string, options: FetchOptions): Promise<Fetched> {
  const timeout = AbortSignal.timeout(options.timeoutMs);
  const signal =
    options.signal === undefined ? timeout : AbortSignal.any([timeout, options.signal]);
  try {
    return await follow(new URL(url), options, signal);
  } catch (error) {
    if (timeout.aborted) return failed(`no complete answer within ${options.timeoutMs} ms`);
    return failed(error instanceof Error ? describe(error) : String(error));
  }
}

async function follow(first: URL, options: FetchOptions, signal: AbortSignal): Promise<Fetched> {
  let url = first;
  for (let hop = 0; hop <= options.maxRedirects; hop++) {
    const response = await open(url, options, signal);
    const location = response.headers.location;
    if (!isRedirect(response.statusCode) || location === undefined) {
      return await read(response, url, options);
    }
    response.destroy();
    url = new URL(location, url);
  }
  return failed(`more than ${options.maxRedirects} redirects`);
}

function isRedirect(status: number | undefined): boolean {
  return status === 301 || status === 302 || status === 303 || status === 307 || status === 308;
}

function open(url: URL, options: FetchOptions, signal: AbortSignal): Promise<IncomingMessage> {
  guard(url, options);
  return new Promise((resolve, reject) => {
    const headers: Record<string, string> = {
      accept: options.accept,
      "accept-encoding": "identity",
      "user-agent": "CrawlWall",
    };
    if (options.etag !== undefined) headers["if-none-match"] = options.etag;
    const request: RequestOptions = { agent: false, signal, headers };
    if (!options.allowInsecure) request.lookup = lookupPublic;
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    send(url, request).on("response", resolve).on("error", reject).end();
  });
}

/** Refuses a URL before anything is sent. Names are resolved later, by `lookupPublic`. */
function guard(url: URL, options: FetchOptions): void {
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new FetchFault(`\`${url.protocol}\` is not fetched; https is`);
  }
  if (options.allowInsecure) return;
  if (url.protocol !== "https:") {
    throw new FetchFault(`\`${url.origin}\` is not https; \`--insecure-sources\` allows it`);
  }
  const literal = parseAddress(url.hostname.replace(/^\[|\]$/g, ""));
  if (literal !== undefined && !isPublicAddress(literal)) throw notPublic(url.hostname);
}

function notPublic(host: string): FetchFault {
  return new FetchFault(
    `\`${host}\` has an address that is not public; \`--insecure-sources\` allows it`,
  );
}

/** Resolves a name for one connection, which then goes to exactly the addresses judged here. */
const lookupPublic: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    const [first] = addresses ?? [];
    if (error !== null || first === undefined) {
      callback(error ?? new FetchFault(`\`${hostname}\` has no address`), "");
      return;
    }
    if (!addresses.every((each) => isPublicText(each.address))) {
      callback(notPublic(hostname), "");
      return;
    }
    if (options.all === true) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};

function isPublicText(text: string): boolean {
  const address = parseAddress(text);
  return address !== undefined && isPublicAddress(address);
}

async function read(response: IncomingMessage, url: URL, options: FetchOptions): Promise<Fetched> {
  const headers = response.headers;
  if (response.statusCode === 304 && options.etag !== undefined) {
    response.destroy();
    return { kind: "unchanged" };
  }
  const encoding = headers["content-encoding"] ?? "identity";
  if (response.statusCode !== 200 || encoding !== "identity") {
    response.destroy();
    return failed(
      response.statusCode === 200
        ? `content encoding \`${encoding}\` was not asked for`
        : `status ${response.statusCode}`,
    );
  }
  const body = await collect(response, options.maxBytes);
  if (body === undefined) return failed(`more than ${options.maxBytes} bytes`);
  return {
    kind: "document",
    body,
    url: withoutCredentials(url),
    etag: headers.etag,
    contentType: headers["content-type"] ?? "",
    cacheControl: headers["cache-control"] ?? "",
  };
}

async function collect(response: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response) {
    if (!Buffer.isBuffer(chunk)) continue;
    length += chunk.length;
    if (length > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}

/** A URL as it may appear in logs and evidence. */
export function withoutCredentials(url: URL): string {
  const bare = new URL(url);
  bare.username = "";
  bare.password = "";
  return bare.href;
}

function failed(cause: string): Fetched {
  return { kind: "failed", cause };
}

function describe(error: Error): string {
  const code = "code" in error ? String(error.code) : "";
  if (error instanceof AggregateError) return code === "" ? "no address answered" : code;
  return error.message === "" ? code : error.message;
}
