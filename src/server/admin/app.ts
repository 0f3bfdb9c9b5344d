import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  LogController,
  type onRequestHookHandler,
} from "fastify";
import { NO_SCHEMAS } from "../no-schemas.ts";
import { problem } from "../reply.ts";
import { createSecretCheck } from "../secret-check.ts";

/** What the listener for operators is made of. */
export interface AdminOptions {
  readonly log: FastifyBaseLogger;
  /** Names, besides those of loopback, that a browser or scraper may call this listener by. */
  readonly hosts: readonly string[];
  /** What `Authorization: Bearer` must carry; undefined where only this machine can ask. */
  readonly token: string | undefined;
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
    schemaController: NO_SCHEMAS,
  });
  app.addHook("onRequest", createHostCheck(options.hosts));
  if (options.token !== undefined) app.addHook("onRequest", createTokenCheck(options.token));
  app.get("/metrics", async (_, reply) => {
    reply.header("cache-control", "no-store").type(options.metrics.contentType);
    return options.metrics.text();
  });
  return app;
}

function nameIn(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, "");
}

function createHostCheck(hosts: readonly string[]): onRequestHookHandler {
  const names = new Set([...LOOPBACK_NAMES, ...hosts.map((host) => host.toLowerCase())]);
  return (request, reply, done) => {
    if (names.has(nameIn(request.raw.headers.host ?? ""))) return done();
    return refuse(reply, 421, "unknown_host");
  };
}

/** RFC 6750, 2.1; the scheme in any case (RFC 9110, 11.1). */
function createTokenCheck(token: string): onRequestHookHandler {
  const isToken = createSecretCheck(token);
  return (request, reply, done) => {
    const sent = /^bearer +(\S+)$/i.exec(request.raw.headers.authorization ?? "")?.[1];
    if (sent !== undefined && isToken(sent)) return done();
    return refuse(reply, 401, "wrong_token", "WWW-Authenticate", "Bearer");
  };
}

function refuse(
  reply: FastifyReply,
  status: number,
  detail: string,
  ...fields: readonly string[]
): undefined {
  const refusal = problem(status, detail, false);
  reply.hijack();
  reply.raw.writeHead(refusal.status, [...refusal.headers, ...fields]);
  reply.raw.end(refusal.body);
}
