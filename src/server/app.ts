import { METHODS } from "node:http";
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import Fastify, { LogController } from "fastify";
import type { Authz } from "./authz.ts";
import type { Health } from "./health.ts";
import { registerHealth } from "./health.ts";
import { registerJwks } from "./jwks.ts";
import { problem, type Reply } from "./reply.ts";
import { createKeyCheck } from "./secret-check.ts";

/** What the listener for proxies is made of. */
export interface AppOptions {
  readonly forwardAuth: Authz;
  /** Answers `/robots.txt`. */
  readonly robots: Authz;
  readonly health: Health;
  /** The public keys of receipts, as a JWK set. */
  readonly jwks: () => string;
  /** What each proxy must send as `X-CrawlWall-Key`; undefined asks for none. */
  readonly sharedKey: string | undefined;
  readonly log: FastifyBaseLogger;
}

/** Above Caddy's own limit with what Caddy adds, so that a large request is not refused here first. */
const MAX_HEADER_BYTES = 65_536;

/** Longer than any proxy keeps idle connections, so that we are never the one to close under a request. */
const KEEP_ALIVE_MS = 130_000;

const REQUEST_TIMEOUT_MS = 5000;

/** Makes the HTTP service that proxies and crawlers talk to (contract 3). Does not listen yet. */
export function createApp(options: AppOptions): FastifyInstance {
  const app = Fastify({
    loggerInstance: options.log,
    logController: new LogController({ disableRequestLogging: true }),
    // One logger for all: a child for each request costs more than a decision.
    childLoggerFactory: (logger) => logger,
    // While the process drains, what comes on open connections is still answered.
    return503OnClosing: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: { maxHeaderSize: MAX_HEADER_BYTES },
    // Our own query is the proxy's or the visitor's, and never read.
    routerOptions: { querystringParser: () => NO_QUERY },
    requestIdHeader: false,
    // A route that cannot be decoded never reaches the error handler.
    frameworkErrors: (_error, _request, reply) => send(reply, problem(400, "bad_request", false)),
    genReqId: () => "",
  });
  acceptEverything(app);
  if (options.sharedKey !== undefined) {
    app.addHook("onRequest", createKeyCheck(options.sharedKey));
  }
  register(app, [...app.supportedMethods], "/authz/forward-auth", options.forwardAuth);
  register(app, ["GET", "HEAD"], "/robots.txt", options.robots);
  registerHealth(app, options.health);
  registerJwks(app, options.jwks);
  answerFaults(app);
  return app;
}

const NO_QUERY = Object.freeze({});

/**
 * Any method, and no body is ever read: neither it nor its type may turn a question into an answer
 * that nobody decided. Node discards what comes along, and the request's time limit bounds it.
 */
function acceptEverything(app: FastifyInstance): void {
  for (const method of METHODS) {
    // Node gives CONNECT an event of its own; it never reaches a route.
    if (method === "CONNECT") continue;
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }
}

function register(app: FastifyInstance, method: string[], url: string, authz: Authz): void {
  app.route({
    method,
    url,
    exposeHeadRoute: false,
    handler: (request, reply) => {
      const answer = authz(request.raw);
      if (!(answer instanceof Promise)) {
        send(reply, answer);
        return;
      }
      answer.then(
        (settled) => send(reply, settled),
        (error: unknown) => fail(request, reply, error),
      );
    },
  });
}

/** Written past Fastify's serialisers and hooks, which have nothing to add to a finished answer. */
function send(reply: FastifyReply, answer: Reply): void {
  reply.hijack();
  reply.raw.writeHead(answer.status, [...answer.headers]);
  reply.raw.end(answer.body);
}

/** An error of ours is never an allow: a 500 that says nothing, and the log that says everything. */
function fail(request: FastifyRequest, reply: FastifyReply, error: unknown): void {
  request.log.error({ err: error }, "a request could not be answered");
  send(reply, problem(500, "internal_error", false));
}

function answerFaults(app: FastifyInstance): void {
  app.setNotFoundHandler((_, reply) => send(reply, problem(404, "no_such_route", false)));
  app.setErrorHandler((error, request, reply) => {
    const status = statusOf(error);
    if (status >= 500) fail(request, reply, error);
    else send(reply, problem(status, "bad_request", false));
  });
}

/** Fastify's own refusals carry a 4xx; anything else is ours. */
function statusOf(error: unknown): number {
  const status =
    typeof error === "object" && error !== null && "statusCode" in error ? error.statusCode : 500;
  return typeof status === "number" && status >= 400 && status < 500 ? status : 500;
}
