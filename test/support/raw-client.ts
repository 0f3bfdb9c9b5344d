import { connect, type Socket } from "node:net";

/** An answer, read from the bytes without a client library in between. */
export interface RawAnswer {
  readonly status: number;
  /** Lower-case names; of a repeated field all values, in order. */
  readonly fields: ReadonlyMap<string, readonly string[]>;
  readonly body: string;
}

export interface RawOptions {
  /** The client's own address, e.g. `127.0.0.2`. */
  readonly from?: string;
  readonly timeoutMs?: number;
}

/** Where to: a port of 127.0.0.1, or the path of a unix socket. */
export type Door = number | string;

/**
 * Sends bytes as they are and reads until the other side closes; undefined when it closed without
 * an answer. A string is sent as latin-1, one byte a character. Ask for `Connection: close`.
 */
export async function sendRaw(
  door: Door,
  bytes: string | Buffer,
  options: RawOptions = {},
): Promise<RawAnswer | undefined> {
  const socket = open(door, options);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  // A server that refuses early may reset the connection after its answer: that is no failure.
  socket.on("error", () => undefined);
  socket.setTimeout(options.timeoutMs ?? 10_000, () => socket.destroy());
  socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);
  await new Promise((resolve) => socket.once("close", resolve));
  return parseAnswer(Buffer.concat(chunks));
}

/** A connection that stays open, for upgrades. */
export function open(door: Door, options: RawOptions = {}): Socket {
  if (typeof door === "string") return connect({ path: door });
  return options.from === undefined
    ? connect({ host: "127.0.0.1", port: door })
    : connect({ host: "127.0.0.1", port: door, localAddress: options.from });
}

/** One request head. Lines are sent as written, so that a test can break every rule. */
export function head(target: string, lines: readonly string[], method = "GET"): string {
  return [`${method} ${target} HTTP/1.1`, ...lines, "Connection: close", "", ""].join("\r\n");
}

function parseAnswer(bytes: Buffer): RawAnswer | undefined {
  let text = bytes.toString("latin1");
  while (/^HTTP\/1\.1 1(?!01)/.test(text)) text = text.slice(text.indexOf("\r\n\r\n") + 4);
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [statusLine = "", ...lines] = text.slice(0, end).split("\r\n");
  const fields = new Map<string, string[]>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    fields.set(name, [...(fields.get(name) ?? []), line.slice(colon + 1).trim()]);
  }
  const rest = text.slice(end + 4);
  const body = fields.get("transfer-encoding")?.includes("chunked") ? unchunk(rest) : rest;
  return { status: Number(statusLine.split(" ")[1]), fields, body };
}

function unchunk(text: string): string {
  let body = "";
  let at = 0;
  for (;;) {
    const lineEnd = text.indexOf("\r\n", at);
    const size = Number.parseInt(text.slice(at, lineEnd), 16);
    if (lineEnd < 0 || Number.isNaN(size) || size === 0) return body;
    body += text.slice(lineEnd + 2, lineEnd + 2 + size);
    at = lineEnd + 2 + size + 2;
  }
}
