import { randomInt } from "node:crypto";
import { createHashIndex } from "../core/hash-index.ts";
import { createKeyedHash, type Hash, type KeyedHash } from "../core/keyed-hash.ts";
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
  /** The place of a request's answer: that of an earlier copy, or a new one. */
  placeOf(forwarded: Forwarded, nowMs: number): number;
  /** The answer to the earlier copy, or the one being made for it; undefined when there was none. */
  find(place: number): Reply | Promise<Reply> | undefined;
  keep(place: number, reply: Reply | Promise<Reply>): void;
}

/**
 * Makes an empty memory of answers, one per route: an id means nothing across routes. Requests are
 * remembered by a 64-bit hash, beside the heap: what survives there for seconds costs the garbage
 * collector more than a decision takes.
 */
export function createReplays(): Replays {
  const hash = createKeyedHash([randomInt(2 ** 32), randomInt(2 ** 32)]);
  const key: Hash = { high: 0, low: 0 };
  const index = createHashIndex(MAX_IDS);
  const ages: Ages = { untilMs: new Float64Array(MAX_IDS), oldest: 0, next: 0 };
  const replies: (Reply | Promise<Reply> | undefined)[] = new Array(MAX_IDS).fill(undefined);
  return {
    placeOf: (forwarded, nowMs) => {
      hashRequest(hash, forwarded, key);
      const known = index.find(key);
      if (known >= 0 && (ages.untilMs[known] ?? 0) >= nowMs) return known;
      forgetExpired(ages, replies, nowMs);
      const place = known >= 0 ? known : nextPlace(ages);
      if (known < 0) index.assign(place, key);
      ages.untilMs[place] = nowMs + KEPT_MS;
      replies[place] = undefined;
      return place;
    },
    find: (place) => replies[place],
    keep: (place, reply) => {
      replies[place] = reply;
    },
  };
}

/**
 * What two copies of a request have in common. An id alone proves nothing, as a client may have chosen
 * it where the proxy does not overwrite it.
 */
function hashRequest(hash: KeyedHash, forwarded: Forwarded, into: Hash): void {
  hash.begin();
  hash.add(forwarded.requestId ?? "");
  hash.add(forwarded.method);
  hash.add(forwarded.scheme);
  hash.add(forwarded.host);
  hash.add(forwarded.uri);
  hash.add(forwarded.forwardedFor);
  hash.add(forwarded.userAgent);
  hash.add(forwarded.isEarlyData ? "1" : "");
  hash.end(into);
}

/** Places in a ring, in the order in which they were taken. */
interface Ages {
  readonly untilMs: Float64Array;
  oldest: number;
  next: number;
}

function nextPlace(ages: Ages): number {
  const place = ages.next;
  ages.next = (place + 1) % MAX_IDS;
  if (ages.next === ages.oldest) ages.oldest = (ages.oldest + 1) % MAX_IDS;
  return place;
}

/** Two at a time, while one comes: so that a quiet hour after a busy one holds little. */
function forgetExpired(
  ages: Ages,
  replies: (Reply | Promise<Reply> | undefined)[],
  nowMs: number,
): void {
  for (let count = 0; count < 2 && ages.oldest !== ages.next; count += 1) {
    if ((ages.untilMs[ages.oldest] ?? 0) >= nowMs) return;
    replies[ages.oldest] = undefined;
    ages.oldest = (ages.oldest + 1) % MAX_IDS;
  }
}
