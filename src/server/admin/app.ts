import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from "fastify";
import { problem } from "../reply.ts";

/** What the listener for operators is made of. */
export interface AdminOptions {
  readonly log: FastifyBaseLogger;
  /** Names, besides those of loopback, that a browser or scraper may call this listener by. */
  readonly hosts: readonly string[];
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
}

const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Makes the listener for operators: `/metrics`. It answers only to its own names, so that a page in an
 * operator's browser cannot reach it through a name that was rebound to loopback.
 */
export function createAdmin(options: AdminOptions): FastifyInstance {
  const app = Fastify({
    loggerInstance: options.log,
    logController: new LogController({ disableRequestLogging: true }),
  });
  const names = new Set([...LOOPBACK_NAMES, ...options.hosts.map((host) => host.toLowerCase())]);
  app.addHook("onRequest", (request, reply, done) => {
    if (names.has(nameIn(request.raw.headers.host ?? ""))) return done();
    const refusal = problem(421, "unknown_host", false);
    reply.hijack();
    reply.raw.writeHead(refusal.status, [...refusal.headers]);
    reply.raw.end(refusal.body);
    return undefined;
  });
  app.get("/metrics", async (_, reply) => {
    reply.header("cache-control", "no-store").type(options.metrics.contentType);
    return options.metrics.text();
  });
  return app;
}

function nameIn(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, "");
}
