import { createHashIndex, type HashIndex } from "../../core/hash-index.ts";
import { type Hash, hashText, type KeyedHash } from "../../core/keyed-hash.ts";
import { type Charge, hasToken, msUntil, refill } from "../../core/limit.ts";
import type { Limit } from "../../core/policy/policy.ts";
import { createSlotHeap, type SlotHeap } from "./slot-heap.ts";

const OVERFLOW_BUCKETS = 1024;

/** Token buckets in typed arrays, 60 bytes each, resident only as they come into use. */
export interface Buckets {
  readonly capacity: number;
  readonly hash: KeyedHash;
  /** The hash of the bucket that is being looked for. */
  readonly key: Hash;
  readonly index: HashIndex;
  /** By slot, when it will be full again if nobody takes from it. */
  readonly fullAt: SlotHeap;
  /** By slot; those from `capacity` on are the overflow. */
  readonly tokens: Float64Array;
  readonly updatedMs: Float64Array;
  size: number;
  overflowed: number;
}

export function createBuckets(capacity: number, hash: KeyedHash): Buckets {
  const tokens = new Float64Array(capacity + OVERFLOW_BUCKETS);
  tokens.fill(Number.POSITIVE_INFINITY, capacity);
  return {
    capacity,
    hash,
    key: { high: 0, low: 0 },
    index: createHashIndex(capacity),
    fullAt: createSlotHeap(capacity),
    tokens,
    updatedMs: new Float64Array(capacity + OVERFLOW_BUCKETS),
    size: 0,
    overflowed: 0,
  };
}

/**
 * The slot of a charge's bucket, new when there was none. Once all are in use, a bucket that has
 * refilled makes room, as it is no other than a new one; while none has, an overflow bucket serves.
 */
export function locate(buckets: Buckets, charge: Charge, nowMs: number): number {
  const { key, index, capacity } = buckets;
  hashText(buckets.hash, charge.bucket, key);
  const known = index.find(key);
  if (known >= 0) return known;
  const shared = capacity + (key.high % OVERFLOW_BUCKETS);
  const free = freeSlot(buckets, nowMs);
  if (free < 0) {
    buckets.overflowed++;
    return shared;
  }
  index.assign(free, key);
  // A key that comes out of the overflow brings along what was spent there.
  write(buckets, free, tokensAt(buckets, shared, charge.limit, nowMs), charge.limit, nowMs);
  return free;
}

function freeSlot(buckets: Buckets, nowMs: number): number {
  if (buckets.size < buckets.capacity) return buckets.size++;
  const first = buckets.fullAt.first();
  return buckets.fullAt.timeOf(first) <= nowMs ? first : -1;
}

/** Takes a token if there is one, and returns 0; else the milliseconds until there is, at least 1. */
export function take(buckets: Buckets, slot: number, limit: Limit, nowMs: number): number {
  const held = tokensAt(buckets, slot, limit, nowMs);
  const isTaken = hasToken(held);
  write(buckets, slot, isTaken ? Math.max(0, held - 1) : held, limit, nowMs);
  return isTaken ? 0 : Math.max(1, msUntil(1, held, limit));
}

/** Undoes a `take` of the same moment. */
export function giveBack(buckets: Buckets, slot: number, limit: Limit, nowMs: number): void {
  const held = Math.min(limit.burst, (buckets.tokens[slot] ?? 0) + 1);
  write(buckets, slot, held, limit, nowMs);
}

function tokensAt(buckets: Buckets, slot: number, limit: Limit, nowMs: number): number {
  const elapsedMs = nowMs - (buckets.updatedMs[slot] ?? 0);
  return refill(buckets.tokens[slot] ?? 0, elapsedMs, limit);
}

function write(buckets: Buckets, slot: number, held: number, limit: Limit, nowMs: number): void {
  buckets.tokens[slot] = held;
  buckets.updatedMs[slot] = nowMs;
  if (slot < buckets.capacity) {
    buckets.fullAt.set(slot, nowMs + msUntil(limit.burst, held, limit));
  }
}
