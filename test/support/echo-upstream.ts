import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { z } from "zod";
import { portOf } from "./free-port.ts";

const echoSchema = z.object({
  method: z.string(),
  url: z.string(),
  /** Name, value, name, value, as they came. */
  rawHeaders: z.array(z.string()),
  headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
  body: z.string(),
});

/** What the application saw of a request. */
export type Echo = z.infer<typeof echoSchema>;

/** Reads the body of an answer of the echo upstream. */
export function parseEcho(body: string): Echo {
  return echoSchema.parse(JSON.parse(body));
}

/** An application that answers every request with what it saw. */
export interface EchoUpstream {
  readonly port: number;
  /** Requests that reached it, upgrades included. */
  requests(): number;
  /** Header fields of the last upgrade that reached it. */
  lastUpgrade(): IncomingHttpHeaders | undefined;
  close(): Promise<void>;
}

/** Starts it on a free port of 127.0.0.1. WebSocket clients get their bytes back. */
export async function startEchoUpstream(): Promise<EchoUpstream> {
  let requests = 0;
  let lastUpgrade: IncomingHttpHeaders | undefined;
  const server = createServer({ maxHeaderSize: 131_072 }, (request, response) => {
    requests += 1;
    readBody(request).then(
      (body) => {
        response.setHeader("X-Request-Id", "of-the-application");
        response.setHeader("Crawlwall-Request-Id", "forged-by-the-application");
        response.setHeader("Content-Type", "application/json");
        response.end(JSON.stringify(echoOf(request, body)));
      },
      () => response.destroy(),
    );
  });
  // The parser drops fields beyond its limit: the echo would hide what came.
  server.maxHeadersCount = 0;
  server.on("upgrade", (request: IncomingMessage, socket: Duplex) => {
    requests += 1;
    lastUpgrade = request.headers;
    acceptUpgrade(request, socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: portOf(server),
    requests: () => requests,
    lastUpgrade: () => lastUpgrade,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

function echoOf(request: IncomingMessage, body: string): unknown {
  const { method, url, rawHeaders, headers } = request;
  return { method, url, rawHeaders, headers, body };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString("latin1");
}

function acceptUpgrade(request: IncomingMessage, socket: Duplex): void {
  const key = `${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
  const accept = createHash("sha1").update(key).digest("base64");
  const lines = [
    "HTTP/1.1 101 Switching Protocols",
    `Upgrade: ${request.headers.upgrade}`,
    "Connection: Upgrade",
    `Sec-WebSocket-Accept: ${accept}`,
  ];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  socket.on("error", () => socket.destroy());
  socket.pipe(socket);
}
