import { randomInt } from "node:crypto";
import { createHashIndex, type HashIndex } from "../core/hash-index.ts";
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
  const memory = createMemory();
  const { index, untilMs, answers } = memory;
  return {
    placeOf: (forwarded, nowMs) => {
      hashRequest(hash, forwarded, key);
      forgetExpired(memory, nowMs);
      const known = index.find(key);
      if (known >= 0 && (untilMs[known] ?? 0) >= nowMs) return known;
      const place = known >= 0 ? known : takePlace(memory);
      if (known < 0) index.assign(place, key);
      untilMs[place] = nowMs + KEPT_MS;
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

interface Memory {
  readonly index: HashIndex;
  readonly answers: Answers;
  /** By place. */
  readonly untilMs: Float64Array;
  /** The places in use, oldest first: a ring. */
  readonly queue: Uint32Array;
  first: number;
  count: number;
  /** Places that were given back, to be taken before others: so that little memory is touched. */
  readonly free: Uint32Array;
  freeCount: number;
}

function createMemory(): Memory {
  return {
    index: createHashIndex(MAX_IDS),
    answers: createAnswers(),
    untilMs: new Float64Array(MAX_IDS),
    queue: new Uint32Array(MAX_IDS),
    first: 0,
    count: 0,
    free: new Uint32Array(MAX_IDS),
    freeCount: 0,
  };
}

function takePlace(memory: Memory): number {
  if (memory.count === MAX_IDS) forgetOldest(memory);
  // All places ever taken are in use or were given back: without any given back, the next is new.
  const place = memory.freeCount > 0 ? (memory.free[--memory.freeCount] ?? 0) : memory.count;
  memory.queue[(memory.first + memory.count) % MAX_IDS] = place;
  memory.count += 1;
  return place;
}

function forgetOldest(memory: Memory): void {
  const place = memory.queue[memory.first] ?? 0;
  memory.first = (memory.first + 1) % MAX_IDS;
  memory.count -= 1;
  memory.index.release(place);
  forget(memory.answers, place);
  memory.free[memory.freeCount++] = place;
}

/** Two at a time, while one comes: so that a quiet hour after a busy one holds little. */
function forgetExpired(memory: Memory, nowMs: number): void {
  for (let turn = 0; turn < 2 && memory.count > 0; turn += 1) {
    const oldest = memory.queue[memory.first] ?? 0;
    if ((memory.untilMs[oldest] ?? 0) >= nowMs) return;
    forgetOldest(memory);
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
