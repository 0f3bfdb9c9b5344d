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
  /** The answer to an earlier copy of this request, or the one being made for it. */
  find(forwarded: Forwarded, nowMs: number): Reply | Promise<Reply> | undefined;
  /** Keeps the answer to a request that has an id. */
  keep(forwarded: Forwarded, reply: Reply | Promise<Reply>, nowMs: number): void;
}

interface Kept {
  readonly forwarded: Forwarded;
  readonly reply: Reply | Promise<Reply>;
  readonly untilMs: number;
}

/** Makes an empty memory of answers. One per route: an id means nothing across routes. */
export function createReplays(): Replays {
  const kept = new Map<string, Kept>();
  const ages: Ages = { ids: [], untilMs: new Float64Array(MAX_IDS), first: 0, next: 0 };
  return {
    find: (forwarded, nowMs) => {
      const { requestId } = forwarded;
      const found = requestId === undefined ? undefined : kept.get(requestId);
      if (found === undefined || found.untilMs < nowMs) return undefined;
      return isSameRequest(found.forwarded, forwarded) ? found.reply : undefined;
    },
    keep: (forwarded, reply, nowMs) => {
      const { requestId } = forwarded;
      if (requestId === undefined) return;
      const isNew = !kept.has(requestId);
      kept.set(requestId, { forwarded, reply, untilMs: nowMs + KEPT_MS });
      if (!isNew) return;
      forgetExpired(kept, ages, nowMs);
      const oldest = ages.ids[ages.next];
      if (oldest !== undefined) kept.delete(oldest);
      ages.ids[ages.next] = requestId;
      ages.untilMs[ages.next] = nowMs + KEPT_MS;
      ages.next = (ages.next + 1) % MAX_IDS;
    },
  };
}

/**
 * The ids in a ring, in order of age. Asking the Map itself for its oldest key walks over all those
 * that were deleted before it.
 */
interface Ages {
  readonly ids: (string | undefined)[];
  readonly untilMs: Float64Array;
  first: number;
  next: number;
}

/** Two at a time, while one comes: so that a quiet hour after a busy one holds little. */
function forgetExpired(kept: Map<string, Kept>, ages: Ages, nowMs: number): void {
  for (let count = 0; count < 2; count += 1) {
    const oldest = ages.ids[ages.first];
    if (oldest === undefined || (ages.untilMs[ages.first] ?? 0) >= nowMs) return;
    kept.delete(oldest);
    ages.ids[ages.first] = undefined;
    ages.first = (ages.first + 1) % MAX_IDS;
  }
}

/** An id alone proves nothing: a client may have chosen it where the proxy does not overwrite it. */
function isSameRequest(a: Forwarded, b: Forwarded): boolean {
  return (
    a.uri === b.uri &&
    a.method === b.method &&
    a.host === b.host &&
    a.scheme === b.scheme &&
    a.isEarlyData === b.isEarlyData &&
    a.forwardedFor === b.forwardedFor &&
    a.userAgent === b.userAgent
  );
}
