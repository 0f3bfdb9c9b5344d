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
 * remembered by a 64-bit hash and answers as bytes, beside the heap: what survives there for seconds
 * costs the garbage collector more than a decision takes.
 */
export function createReplays(): Replays {
  const hash = createKeyedHash([randomInt(2 ** 32), randomInt(2 ** 32)]);
  const key: Hash = { high: 0, low: 0 };
  const index = createHashIndex(MAX_IDS);
  const ages: Ages = { untilMs: new Float64Array(MAX_IDS), oldest: 0, next: 0 };
  const answers = createAnswers();
  return {
    placeOf: (forwarded, nowMs) => {
      hashRequest(hash, forwarded, key);
      const known = index.find(key);
      if (known >= 0 && (ages.untilMs[known] ?? 0) >= nowMs) return known;
      forgetExpired(ages, answers, nowMs);
      const place = known >= 0 ? known : nextPlace(ages);
      if (known < 0) index.assign(place, key);
      ages.untilMs[place] = nowMs + KEPT_MS;
      forget(answers, place);
      return place;
    },
    find: (place) => find(answers, place),
    keep: (place, reply) => keep(answers, place, reply),
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
function forgetExpired(ages: Ages, answers: Answers, nowMs: number): void {
  for (let count = 0; count < 2 && ages.oldest !== ages.next; count += 1) {
    if ((ages.untilMs[ages.oldest] ?? 0) >= nowMs) return;
    forget(answers, ages.oldest);
    ages.oldest = (ages.oldest + 1) % MAX_IDS;
  }
}

/** Answers by place, most of them as text. */
interface Answers {
  /** A piece of `TEXT_BYTES` for each place, resident only as it comes into use. */
  bytes: Buffer | undefined;
  /** How much of its piece an answer takes; 0 for none. */
  readonly lengths: Uint16Array;
  /** What has no room in a piece, or is still being made. */
  readonly others: Map<number, Reply | Promise<Reply>>;
}

/** An allow takes about 230 bytes, a refusal 300. */
const TEXT_BYTES = 384;

function createAnswers(): Answers {
  return { bytes: undefined, lengths: new Uint16Array(MAX_IDS), others: new Map() };
}

function forget({ lengths, others }: Answers, place: number): void {
  lengths[place] = 0;
  if (others.size > 0) others.delete(place);
}

function keep(answers: Answers, place: number, reply: Reply | Promise<Reply>): void {
  const text = reply instanceof Promise ? undefined : textOf(reply);
  if (text === undefined) {
    answers.others.set(place, reply);
    return;
  }
  answers.bytes ??= Buffer.allocUnsafeSlow(MAX_IDS * TEXT_BYTES);
  answers.bytes.write(text, place * TEXT_BYTES, "latin1");
  answers.lengths[place] = text.length;
}

function find(answers: Answers, place: number): Reply | Promise<Reply> | undefined {
  const length = answers.lengths[place] ?? 0;
  if (length === 0) return answers.others.get(place);
  const start = place * TEXT_BYTES;
  const text = answers.bytes?.toString("latin1", start, start + length) ?? "";
  const [status, body = "", ...headers] = text.split(SEPARATOR);
  return { status: Number(status), headers, body };
}

/** No part of an answer holds a line feed: headers cannot, and JSON writes it as an escape. */
const SEPARATOR = "\n";

/** Undefined where it is not all ASCII, has lines, or is too long. */
function textOf({ status, headers, body }: Reply): string | undefined {
  if (body.includes(SEPARATOR)) return undefined;
  const text = [status, body, ...headers].join(SEPARATOR);
  return text.length <= TEXT_BYTES && Buffer.byteLength(text) === text.length ? text : undefined;
}
