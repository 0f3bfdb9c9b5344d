import type { IncomingMessage } from "node:http";
import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import Fastify, { LogController } from "fastify";
import type { Authz } from "./authz.ts";
import { type Check, createFront, faultReply, send, WRONG_KEY } from "./front.ts";
import type { Health } from "./health.ts";
import { registerHealth } from "./health.ts";
import { registerJwks } from "./jwks.ts";
import { NO_SCHEMAS } from "./no-schemas.ts";
import { problem } from "./reply.ts";
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

/** Makes the HTTP service that proxies and crawlers talk to (contract 3). Does not listen yet. */
export function createApp(options: AppOptions): FastifyInstance {
  const { log, sharedKey } = options;
  const isKeyRight = sharedKey === undefined ? undefined : createKeyCheck(sharedKey);
  const check: Check = { path: CHECK_PATH, answer: options.forwardAuth, isKeyRight, log };
  const app = Fastify({
    serverFactory: (others) => createFront(check, others),
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    schemaController: NO_SCHEMAS,
    // One logger for all: a child for each request costs more than a decision.
    childLoggerFactory: (logger) => logger,
    // While the process drains, what comes on open connections is still answered.
    return503OnClosing: false,
    // Our own query is the proxy's or the visitor's, and never read.
    routerOptions: { querystringParser: () => NO_QUERY },
    requestIdHeader: false,
    // A route that cannot be decoded never reaches the error handler.
    frameworkErrors: (_error, _request, reply) => {
      reply.hijack();
      send(reply.raw, problem(400, "bad_request", false));
    },
    genReqId: () => "",
  });
  if (isKeyRight !== undefined) askForKey(app, isKeyRight);
  registerRobots(app, options.robots);
  registerHealth(app, options.health);
  registerJwks(app, options.jwks);
  answerFaults(app);
  return app;
}

const CHECK_PATH = "/authz/forward-auth";

const NO_QUERY = Object.freeze({});

/** Routes that supervisors ask without a key. */
const OPEN_ROUTES = new Set(["/healthz", "/readyz"]);

function askForKey(app: FastifyInstance, isKeyRight: (message: IncomingMessage) => boolean): void {
  app.addHook("onRequest", (request, reply, done) => {
    if (OPEN_ROUTES.has(request.routeOptions.url ?? "") || isKeyRight(request.raw)) return done();
    reply.hijack();
    send(reply.raw, WRONG_KEY);
    return undefined;
  });
}

function registerRobots(app: FastifyInstance, robots: Authz): void {
  app.route({
    method: ["GET", "HEAD"],
    url: "/robots.txt",
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      const answer = await robots(request.raw, performance.now());
      // Past Fastify's serialisers and hooks, which have nothing to add to a finished answer.
      reply.hijack();
      send(reply.raw, answer);
    },
  });
}

function answerFaults(app: FastifyInstance): void {
  app.setNotFoundHandler((_, reply) => {
    reply.hijack();
    send(reply.raw, problem(404, "no_such_route", false));
  });
  app.setErrorHandler((error, request, reply) => {
    const status = statusOf(error);
    reply.hijack();
    const isOurs = status >= 500;
    send(
      reply.raw,
      isOurs ? faultReply(request.log, error) : problem(status, "bad_request", false),
    );
  });
}

/** Fastify's own refusals carry a 4xx; anything else is ours. */
function statusOf(error: unknown): number {
  const status =
    typeof error === "object" && error !== null && "statusCode" in error ? error.statusCode : 500;
  return typeof status === "number" && status >= 400 && status < 500 ? status : 500;
}
