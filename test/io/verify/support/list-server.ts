import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { portOf } from "../../../support/free-port.ts";

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** An HTTP server on loopback whose answers a test can change while it runs. */
export interface ListServer {
  readonly url: string;
  /** Requests so far. */
  readonly requests: readonly IncomingMessage[];
  answer(handler: Handler): void;
  stop(): Promise<void>;
}

export async function startListServer(first: Handler): Promise<ListServer> {
  let handler = first;
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    handler(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${portOf(server)}/list.json`,
    requests,
    answer: (next) => {
      handler = next;
    },
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** Serves a document in the shape of Google and OpenAI. */
export function prefixes(...cidrs: readonly string[]): Handler {
  const members = cidrs.map((cidr) =>
    cidr.includes(":") ? { ipv6Prefix: cidr } : { ipv4Prefix: cidr },
  );
  return body(JSON.stringify({ creationTime: "2026-01-01T00:00:00", prefixes: members }));
}

export function body(text: string, status = 200): Handler {
  return (_request, response) => {
    response.writeHead(status).end(text);
  };
}
