import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { FastifyBaseLogger } from "fastify";
import { createTurn, type Turn } from "../core/turn.ts";
import type { Authz } from "./authz.ts";
import { problem, type Reply } from "./reply.ts";

// An import would read every name of the module, and for some of them load a whole fetch client.
const { createServer } = process.getBuiltinModule("node:http");

/** The question that a proxy asks about each request of each visitor. */
export interface Check {
  readonly path: string;
  readonly answer: Authz;
  /** Whether whoever asks may; undefined where everybody may. */
  readonly isKeyRight: ((message: IncomingMessage) => boolean) | undefined;
  readonly log: FastifyBaseLogger;
}

/** Above Caddy's own limit with what Caddy adds, so that a large request is not refused here first. */
const MAX_HEADER_BYTES = 65_536;

/** When the peer of an idle connection is first asked whether it still lives. */
const PROBE_AFTER_MS = 60_000;

const REQUEST_TIMEOUT_MS = 5000;

/**
 * Makes the HTTP server. The check is answered here: it is all that the server does under load, and a
 * router and its request objects would cost as much as the decision. `others` gets every other request.
 */
export function createFront(
  check: Check,
  others: (message: IncomingMessage, response: ServerResponse) => void,
): Server {
  const withQuery = `${check.path}?`;
  const options = {
    maxHeaderSize: MAX_HEADER_BYTES,
    // Idle connections are the proxy's to close: we would be the one to close under a request. Those
    // whose proxy is gone, TCP finds out about.
    keepAliveTimeout: 0,
    keepAlive: true,
    keepAliveInitialDelay: PROBE_AFTER_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    // No route reads a body: one that is announced is discarded, and none is waited for.
    optimizeEmptyRequests: true,
  };
  const desk = createDesk(check);
  return createServer(options, (message, response) => {
    const url = message.url ?? "";
    if (url !== check.path && !url.startsWith(withQuery)) others(message, response);
    else desk.add({ message, response, startedMs: performance.now() });
  });
}

/** A question that waits for its turn to end. */
interface Exchange {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  readonly startedMs: number;
}

/** More questions than this are not kept waiting for each other. */
const MAX_WAITING = 64;

/**
 * Reads all questions that lie ready in one turn of the event loop, then decides them, then sends the
 * answers. Each of the three is more code than a processor keeps at hand: in this order a question
 * costs two thirds of what it costs on its own. One that comes alone does not wait.
 */
function createDesk(check: Check): Turn<Exchange> {
  return createTurn({ most: MAX_WAITING, defer: setImmediate }, (asked) => {
    const answers = asked.map((exchange) => answerTo(check, exchange));
    for (const [index, { response }] of asked.entries()) {
      deliver(check, response, answers[index] ?? INTERNAL_ERROR);
    }
  });
}

function answerTo(check: Check, { message, startedMs }: Exchange): Reply | Promise<Reply> {
  try {
    if (check.isKeyRight?.(message) === false) return WRONG_KEY;
    return check.answer(message, startedMs);
  } catch (error) {
    return faultReply(check.log, error);
  }
}

function deliver(check: Check, response: ServerResponse, answer: Reply | Promise<Reply>): void {
  if (!(answer instanceof Promise)) {
    sendSafely(check, response, answer);
    return;
  }
  answer.then(
    (settled) => sendSafely(check, response, settled),
    (error: unknown) => send(response, faultReply(check.log, error)),
  );
}

/** An answer that cannot be written must take neither those behind it nor the process along. */
function sendSafely(check: Check, response: ServerResponse, answer: Reply): void {
  try {
    send(response, answer);
  } catch (error) {
    send(response, faultReply(check.log, error));
  }
}

/** To those who do not send the shared key. */
export const WRONG_KEY: Reply = problem(403, "wrong_key", false);

/** Writes an answer that is finished: nobody has anything to add. */
export function send(response: ServerResponse, answer: Reply): void {
  response.writeHead(answer.status, [...answer.headers]);
  response.end(answer.body);
}

const INTERNAL_ERROR: Reply = problem(500, "internal_error", false);

/** An error of ours is never an allow: a 500 that says nothing, and the log that says everything. */
export function faultReply(log: FastifyBaseLogger, error: unknown): Reply {
  log.error({ err: error }, "a request could not be answered");
  return INTERNAL_ERROR;
}
