import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { portOf } from "./ports.ts";

/** A small website, for something to stand behind the wall. */
export interface DemoSite {
  readonly port: number;
  close(): Promise<void>;
}

/** Starts it on a free port of 127.0.0.1. */
export async function startDemoSite(): Promise<DemoSite> {
  const server = createServer(answer);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: portOf(server),
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** What the site says for itself while the policy does not serve a file of its own. */
const ROBOTS = "User-agent: *\nDisallow: /archive/\n";

function answer(request: IncomingMessage, response: ServerResponse): void {
  const path = new URL(request.url ?? "/", "http://localhost").pathname;
  if (path === "/robots.txt") {
    response.writeHead(200, { "Content-Type": "text/plain; charset=utf-8" }).end(ROBOTS);
    return;
  }
  const text = pageOf(path);
  const decision = String(request.headers["x-crawlwall-decision"] ?? "none");
  const rule = String(request.headers["x-crawlwall-rule"] ?? "none");
  response
    .writeHead(text === undefined ? 404 : 200, { "Content-Type": "text/plain; charset=utf-8" })
    .end(`${text ?? "There is no such page."}\n\nCrawlWall says: ${decision} (${rule})\n`);
}

function pageOf(path: string): string | undefined {
  if (path === "/") return "Welcome to the demo site. It has an /archive and a /search.";
  if (path === "/archive" || path.startsWith("/archive/")) return "A page of the archive.";
  if (path === "/search") return "Nothing found, but you may ask ten times a minute.";
  return undefined;
}
