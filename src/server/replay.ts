import type { Forwarded } from "./forwarded.ts";
import type { Reply } from "./reply.ts";

/** How long a repeat gets the same answer: longer than any proxy goes on retrying. */
const KEPT_MS = 10_000;

/** How many ids are kept; the oldest go first. */
const MAX_IDS = 65_536;

/**
 * Answers that were given, by request id, so that a proxy's retries are one decision: spent and
 * recorded once, and the same bytes each time (contract 2, `--trust-request-id`).
 */
export interface Replays {
  /** The answer to an earlier copy of a request, or the one being made for it; none without a key. */
  find(key: string | undefined, nowMs: number): Reply | Promise<Reply> | undefined;
  /** Keeps an answer; without a key, nothing. */
  keep(key: string | undefined, reply: Reply | Promise<Reply>, nowMs: number): void;
}

/**
 * What two copies of a request have in common; undefined without an id. An id alone proves nothing, as
 * a client may have chosen it where the proxy does not overwrite it. One text, since what is kept costs
 * the collector by the piece.
 */
export function replayKey(forwarded: Forwarded): string | undefined {
  const { requestId, method, scheme, host, uri, forwardedFor, userAgent, isEarlyData } = forwarded;
  if (requestId === undefined) return undefined;
  // A line feed cannot be part of a field: no two requests have one key.
  return `${requestId}\n${method}\n${scheme}\n${host}\n${uri}\n${forwardedFor}\n${userAgent}\n${isEarlyData}`;
}

interface Kept {
  readonly reply: Reply | Promise<Reply>;
  readonly untilMs: number;
}

/** Makes an empty memory of answers. One per route: an id means nothing across routes. */
export function createReplays(): Replays {
  const kept = new Map<string, Kept>();
  const ages: Ages = { keys: [], untilMs: new Float64Array(MAX_IDS), first: 0, next: 0 };
  return {
    find: (key, nowMs) => {
      const found = key === undefined ? undefined : kept.get(key);
      return found === undefined || found.untilMs < nowMs ? undefined : found.reply;
    },
    keep: (key, reply, nowMs) => {
      if (key === undefined) return;
      const untilMs = nowMs + KEPT_MS;
      const isNew = !kept.has(key);
      kept.set(key, { reply, untilMs });
      if (!isNew) return;
      forgetExpired(kept, ages, nowMs);
      const oldest = ages.keys[ages.next];
      if (oldest !== undefined) kept.delete(oldest);
      ages.keys[ages.next] = key;
      ages.untilMs[ages.next] = untilMs;
      ages.next = (ages.next + 1) % MAX_IDS;
    },
  };
}

/**
 * The keys in a ring, in order of age. Asking the Map itself for its oldest key walks over all those
 * that were deleted before it.
 */
interface Ages {
  readonly keys: (string | undefined)[];
  readonly untilMs: Float64Array;
  first: number;
  next: number;
}

/** Two at a time, while one comes: so that a quiet hour after a busy one holds little. */
function forgetExpired(kept: Map<string, Kept>, ages: Ages, nowMs: number): void {
  for (let count = 0; count < 2; count += 1) {
    const oldest = ages.keys[ages.first];
    if (oldest === undefined || (ages.untilMs[ages.first] ?? 0) >= nowMs) return;
    kept.delete(oldest);
    ages.keys[ages.first] = undefined;
    ages.first = (ages.first + 1) % MAX_IDS;
  }
}
