import { randomBytes } from "node:crypto";
import type { Forwarded } from "./forwarded.ts";
import type { Reply } from "./reply.ts";

/** How long a repeat gets the same answer: longer than any proxy goes on retrying. */
const KEPT_MS = 10_000;

/** How many ids are kept, a power of two; the oldest go first. */
const MAX_IDS = 65_536;

/**
 * Answers that were given, by request id, so that a proxy's retries are one decision: spent and
 * recorded once, and the same bytes each time (contract 2, `--trust-request-id`).
 */
export interface Replays {
  /** The answer to an earlier copy of a request, or the one being made for it; none without an id. */
  find(forwarded: Forwarded, nowMs: number): Reply | Promise<Reply> | undefined;
  /** Keeps an answer; of a request without an id, nothing. */
  keep(forwarded: Forwarded, reply: Reply | Promise<Reply>, nowMs: number): void;
}

/** Makes an empty memory of answers. One per route: an id means nothing across routes. */
export function createReplays(): Replays {
  let memory: Memory | undefined;
  return {
    find: (forwarded, nowMs) => {
      const { requestId } = forwarded;
      if (memory === undefined || requestId === undefined) return undefined;
      const place = findPlace(memory, hashOf(memory.seed, requestId), forwarded);
      const isKept = place >= 0 && (memory.untilMs[place] ?? 0) >= nowMs;
      return isKept ? memory.replies[place] : undefined;
    },
    keep: (forwarded, reply, nowMs) => {
      const { requestId } = forwarded;
      if (requestId === undefined) return;
      memory ??= createMemory();
      forgetExpired(memory, nowMs);
      const place = add(memory, hashOf(memory.seed, requestId), keyOf(forwarded));
      memory.replies[place] = reply;
      memory.untilMs[place] = nowMs + KEPT_MS;
    },
  };
}

/**
 * What two copies of a request have in common. An id alone proves nothing, as a client may have chosen
 * it where the proxy does not overwrite it. A line feed cannot be part of a field: no two requests
 * have one key.
 */
function keyOf(forwarded: Forwarded): string {
  const { requestId, method, scheme, host, uri, forwardedFor, userAgent, isEarlyData } = forwarded;
  return `${requestId}\n${method}\n${scheme}\n${host}\n${uri}\n${forwardedFor}\n${userAgent}\n${isEarlyData}`;
}

/*
 * Requests are remembered beside the heap: what survives for seconds there costs the garbage
 * collector more than a decision takes. Entries are numbered from 1 in order of age; each has the
 * place of its number modulo MAX_IDS, and a chain leads from each hash to the newest entry of it and
 * on to older ones. So nothing is ever unlinked: a chain ends at the first number that is too old.
 */
interface Memory {
  readonly seed: number;
  /** Numbers of the oldest entry that is kept, and of the one to come. */
  oldest: number;
  next: number;
  /** By the lowest bits of a hash, the number of the newest entry; 0 for none. */
  readonly newest: Float64Array;
  /** By place: the number of the next older entry of the chain. */
  readonly older: Float64Array;
  readonly hashes: Int32Array;
  readonly untilMs: Float64Array;
  readonly replies: (Reply | Promise<Reply> | undefined)[];
  /** By place: where its key is written. */
  readonly shelves: Float64Array;
  readonly starts: Uint32Array;
  readonly lengths: Uint32Array;
  readonly keys: Shelves;
}

/** Keys, one after the other, in pieces that are given back as their entries go. */
interface Shelves {
  readonly rows: Buffer[];
  /** The number of the first row. */
  first: number;
  /** Where the next key goes in the last row. */
  end: number;
  /** A row that was given back, for the next time. */
  spare: Buffer | undefined;
}

const SHELF_BYTES = 1_048_576;

/** With long keys, fewer ids are kept. */
const MAX_SHELVES = 48;

/** Ids of one hash that are looked at: more is somebody's doing. */
const MAX_STEPS = 32;

function createMemory(): Memory {
  return {
    seed: randomBytes(4).readInt32LE(),
    oldest: 1,
    next: 1,
    newest: new Float64Array(MAX_IDS),
    older: new Float64Array(MAX_IDS),
    hashes: new Int32Array(MAX_IDS),
    untilMs: new Float64Array(MAX_IDS),
    replies: new Array(MAX_IDS).fill(undefined),
    shelves: new Float64Array(MAX_IDS),
    starts: new Uint32Array(MAX_IDS),
    lengths: new Uint32Array(MAX_IDS),
    keys: { rows: [Buffer.allocUnsafeSlow(SHELF_BYTES)], first: 0, end: 0, spare: undefined },
  };
}

/** FNV-1a over at most 64 characters, begun where no client knows. */
function hashOf(seed: number, requestId: string): number {
  let hash = seed;
  for (let index = 0; index < requestId.length; index += 1) {
    hash = Math.imul(hash ^ requestId.charCodeAt(index), 0x01000193);
  }
  return hash ^ (hash >>> 15);
}

function placeOf(entry: number): number {
  return entry & (MAX_IDS - 1);
}

/** Where the newest copy of a request is kept, or -1. */
function findPlace(memory: Memory, hash: number, forwarded: Forwarded): number {
  let entry = memory.newest[hash & (MAX_IDS - 1)] ?? 0;
  for (let steps = 0; entry >= memory.oldest && steps < MAX_STEPS; steps += 1) {
    const place = placeOf(entry);
    if (memory.hashes[place] === hash && isKey(memory, place, keyOf(forwarded))) return place;
    entry = memory.older[place] ?? 0;
  }
  return -1;
}

function isKey(memory: Memory, place: number, key: string): boolean {
  if (memory.lengths[place] !== key.length) return false;
  const { rows, first } = memory.keys;
  const row = rows[(memory.shelves[place] ?? 0) - first];
  const start = memory.starts[place] ?? 0;
  return row?.toString("latin1", start, start + key.length) === key;
}

/** Adds an entry, in place of the oldest where there is no room, and returns its place. */
function add(memory: Memory, hash: number, key: string): number {
  if (memory.next - memory.oldest === MAX_IDS) forgetOldest(memory);
  const entry = memory.next;
  const place = placeOf(entry);
  writeKey(memory, place, key);
  memory.next = entry + 1;
  const bucket = hash & (MAX_IDS - 1);
  memory.hashes[place] = hash;
  memory.older[place] = memory.newest[bucket] ?? 0;
  memory.newest[bucket] = entry;
  return place;
}

/** Field values are bytes, one a character, and a request's are 64 KiB at most: a row holds any. */
function writeKey(memory: Memory, place: number, key: string): void {
  const { keys } = memory;
  if (keys.end + key.length > SHELF_BYTES) openShelf(memory);
  const row = keys.rows.at(-1);
  row?.write(key, keys.end, key.length, "latin1");
  memory.shelves[place] = keys.first + keys.rows.length - 1;
  memory.starts[place] = keys.end;
  memory.lengths[place] = key.length;
  keys.end += key.length;
}

function openShelf(memory: Memory): void {
  const { keys } = memory;
  while (keys.rows.length >= MAX_SHELVES) forgetOldest(memory);
  keys.rows.push(keys.spare ?? Buffer.allocUnsafeSlow(SHELF_BYTES));
  keys.spare = undefined;
  keys.end = 0;
}

function forgetOldest(memory: Memory): void {
  const { keys } = memory;
  memory.replies[placeOf(memory.oldest)] = undefined;
  memory.oldest += 1;
  const isEmpty = memory.oldest === memory.next;
  const last = keys.first + keys.rows.length - 1;
  const needed = isEmpty ? last : (memory.shelves[placeOf(memory.oldest)] ?? last);
  while (keys.first < needed) {
    keys.spare = keys.rows.shift();
    keys.first += 1;
  }
  if (isEmpty) keys.end = 0;
}

/** Two at a time, while one comes: so that a quiet hour after a busy one holds little. */
function forgetExpired(memory: Memory, nowMs: number): void {
  for (let count = 0; count < 2; count += 1) {
    const isEmpty = memory.oldest === memory.next;
    if (isEmpty || (memory.untilMs[placeOf(memory.oldest)] ?? 0) >= nowMs) return;
    forgetOldest(memory);
  }
}
