import {
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
  request as requestHttp,
} from "node:http";
import { request as requestHttps } from "node:https";
import { pipeline, Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import type { FetchFault } from "../core/audit/fetch.ts";
import { LONGEST_ROBOTS_BYTES } from "../core/robots/decode.ts";
import { isPrivateLiteral, lookupPublic, NotPublicError } from "./public-lookup.ts";

/** How long the parts of one request may take, each from its start, in milliseconds. */
export interface ExchangeLimits {
  /** To a connection that can be written to: name, TCP, TLS. */
  readonly connectMs: number;
  /** To the end of the response's headers. */
  readonly headersMs: number;
  /** To the last byte. */
  readonly wholeMs: number;
}

/** What an exchange may do, and for how long. */
export interface ExchangeOptions extends ExchangeLimits {
  /** Whether the address may be one that is not public. */
  readonly isPrivateAllowed: boolean;
  /** Gives the exchange up, as if its time had run out. */
  readonly signal: AbortSignal | undefined;
}

/** One request and its answer. */
export type Exchange =
  | {
      readonly kind: "response";
      readonly status: number;
      readonly location: string | undefined;
      readonly retryAfter: string | undefined;
      readonly contentType: string | undefined;
      readonly body: Uint8Array;
      readonly isCut: boolean;
      readonly wireBytes: number;
    }
  | { readonly kind: "failure"; readonly fault: FetchFault; readonly cause: string };

/** A compressed body may be a little longer than what it holds. */
const LONGEST_WIRE_BYTES = LONGEST_ROBOTS_BYTES + 65_536;
const LONGEST_HEADERS = 16_384;

/** An end that we made ourselves. */
class Stopped extends Error {
  readonly fault: FetchFault;

  constructor(fault: FetchFault, message: string) {
    super(message);
    this.fault = fault;
  }
}

/** The body as far as it came; it outlives the failure of its request. */
interface Received {
  phase: "connect" | "tls" | "headers" | "body";
  readonly chunks: Buffer[];
  length: number;
  wireBytes: number;
  isCut: boolean;
  response: IncomingMessage | undefined;
  /** Why the request ended, where the end of its response says less. */
  failure: Error | undefined;
}

/** Asks for one URL, follows nothing, and reads what a robots.txt may hold. Never rejects. */
export async function exchange(url: URL, options: ExchangeOptions): Promise<Exchange> {
  const received: Received = {
    phase: "connect",
    chunks: [],
    length: 0,
    wireBytes: 0,
    isCut: false,
    response: undefined,
    failure: undefined,
  };
  try {
    if (!options.isPrivateAllowed && isPrivateLiteral(url)) throw new NotPublicError(url.host);
    const response = await open(url, options, received);
    if (hasBody(response)) await readBody(response, received);
  } catch (error) {
    if (!isPartEnough(received)) {
      return { kind: "failure", ...classify(received.failure ?? error, received) };
    }
  } finally {
    received.response?.destroy();
  }
  return finished(received);
}

function finished(received: Received): Exchange {
  const headers = received.response?.headers;
  return {
    kind: "response",
    status: received.response?.statusCode ?? 0,
    location: headers?.location,
    retryAfter: headers?.["retry-after"],
    contentType: headers?.["content-type"],
    body: Buffer.concat(received.chunks, Math.min(received.length, LONGEST_ROBOTS_BYTES)),
    isCut: received.isCut,
    wireBytes: received.wireBytes,
  };
}

/** A status that is no success says all; its body is kept for diagnosis, as much as came. */
function isPartEnough({ response, isCut }: Received): boolean {
  const status = response?.statusCode;
  return isCut || (status !== undefined && (status < 200 || status > 299 || status === 206));
}

function hasBody(response: IncomingMessage): boolean {
  const status = response.statusCode ?? 0;
  // No decoder takes nothing for something.
  if (response.headers["content-length"] === "0") return false;
  // The bodies of redirects are for browsers; 101 is no HTTP any more.
  return status >= 200 && status !== 204 && (status < 300 || status > 399);
}

function open(url: URL, options: ExchangeOptions, received: Received): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const isSecure = url.protocol === "https:";
    const send = isSecure ? requestHttps : requestHttp;
    const request = send(url, optionsFor(options.isPrivateAllowed));
    const limits = limitTime(request, options, received);
    request.on("socket", (socket) => {
      socket.once("connect", () => {
        received.phase = isSecure ? "tls" : "headers";
        if (!isSecure) limits.connected();
      });
      socket.once("secureConnect", () => {
        received.phase = "headers";
        limits.connected();
      });
    });
    const answered = (response: IncomingMessage): void => {
      limits.answered();
      received.phase = "body";
      received.response = response;
      resolve(response);
    };
    request.on("response", answered);
    request.on("upgrade", (response, socket) => {
      socket.destroy();
      answered(response);
    });
    request.on("error", (error) => {
      received.failure ??= error;
      reject(error);
    });
    request.on("close", limits.done);
    request.end();
  });
}

interface TimeLimits {
  connected(): void;
  answered(): void;
  done(): void;
}

/** Destroys a request that takes too long, in part or in whole, or that nobody wants any more. */
function limitTime(
  request: ClientRequest,
  { connectMs, headersMs, wholeMs, signal }: ExchangeOptions,
  received: Received,
): TimeLimits {
  const giveUp = (cause: string): void => {
    received.failure ??= new Stopped("timeout", cause);
    request.destroy(received.failure);
  };
  const limit = (ms: number, what: string): NodeJS.Timeout =>
    setTimeout(() => giveUp(`no ${what} within ${Math.ceil(ms)} ms`), ms);
  const connecting = limit(connectMs, "connection");
  const waiting = limit(headersMs, "headers");
  const reading = limit(wholeMs, "complete answer");
  const abandon = (): void => giveUp("given up");
  signal?.addEventListener("abort", abandon);
  if (signal?.aborted === true) abandon();
  const answered = (): void => {
    clearTimeout(connecting);
    clearTimeout(waiting);
  };
  return {
    connected: () => clearTimeout(connecting),
    answered,
    done: () => {
      answered();
      clearTimeout(reading);
      signal?.removeEventListener("abort", abandon);
    },
  };
}

function optionsFor(
  isPrivateAllowed: boolean,
): RequestOptions & { readonly minVersion: "TLSv1.2" } {
  return {
    agent: false,
    maxHeaderSize: LONGEST_HEADERS,
    minVersion: "TLSv1.2",
    headers: {
      "user-agent": "CrawlWall-Audit",
      accept: "text/plain, */*;q=0.1",
      "accept-encoding": "identity",
    },
    ...(isPrivateAllowed ? {} : { lookup: lookupPublic }),
  };
}

async function readBody(response: IncomingMessage, received: Received): Promise<void> {
  const meter = new Transform({
    transform: (chunk: Buffer, _, done) => {
      received.wireBytes += chunk.length;
      received.isCut ||= received.wireBytes > LONGEST_WIRE_BYTES;
      done(received.isCut ? new Error("cut") : null, chunk);
    },
  });
  const decoders = decodersFor(response.headers["content-encoding"]);
  const last = decoders.at(-1) ?? meter;
  // Errors reach the reader below.
  pipeline([response, meter, ...decoders], () => undefined);
  for await (const chunk of last) {
    if (!Buffer.isBuffer(chunk)) continue;
    received.chunks.push(chunk);
    received.length += chunk.length;
    if (received.length > LONGEST_ROBOTS_BYTES) {
      received.isCut = true;
      break;
    }
  }
}

/** What undoes a Content-Encoding that was not asked for; throws for one that nothing undoes. */
function decodersFor(header: string | undefined): readonly Transform[] {
  const encodings = (header ?? "")
    .toLowerCase()
    .split(",")
    .map((encoding) => encoding.trim())
    .filter((encoding) => encoding !== "" && encoding !== "identity");
  if (encodings.length > 2) throw new Stopped("decode", "more than two content encodings");
  return encodings.toReversed().map((encoding) => {
    switch (encoding) {
      case "gzip":
      case "x-gzip":
        return createGunzip();
      case "deflate":
        return createInflate();
      case "br":
        return createBrotliDecompress();
      default:
        throw new Stopped("decode", "an unknown content encoding");
    }
  });
}

function classify(
  error: unknown,
  { phase }: Received,
): { readonly fault: FetchFault; readonly cause: string } {
  if (error instanceof Stopped) return { fault: error.fault, cause: error.message };
  if (error instanceof NotPublicError) return { fault: "blocked_address", cause: error.message };
  const code = codeOf(error);
  const cause = code === "" && error instanceof Error ? error.message : code;
  if (code.startsWith("HPE_")) return { fault: "protocol", cause };
  if (isLookup(error)) return { fault: "dns", cause };
  if (phase === "body") {
    return { fault: /^(?:Z_|ERR_|BROTLI)/.test(code) ? "decode" : "incomplete", cause };
  }
  return { fault: FAULTS_BY_CODE.get(code) ?? faultOfPhase(phase, code), cause };
}

const FAULTS_BY_CODE: ReadonlyMap<string, FetchFault> = new Map([
  ["ECONNRESET", "reset"],
  ["EPIPE", "reset"],
  ["ETIMEDOUT", "timeout"],
  ["EPROTO", "tls"],
]);

function faultOfPhase(phase: "connect" | "tls" | "headers", code: string): FetchFault {
  if (phase === "tls" || /^ERR_(?:SSL|TLS)/.test(code)) return "tls";
  return phase === "connect" ? "connect" : "protocol";
}

function isLookup(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && error.syscall === "getaddrinfo";
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
