import { randomInt } from "node:crypto";
import { createKeyedHash } from "../../core/keyed-hash.ts";
import type { Allowance, Charge } from "../../core/limit.ts";
import { type Buckets, createBuckets, giveBack, locate, take } from "./buckets.ts";

/** Token buckets of this process (contract 4, Limits). */
export interface MemoryLimits {
  /**
   * Takes one token for each charge that can refuse, or none of them; one for a shadow charge on
   * its own. Work and memory are bounded whatever the charges hold.
   */
  spend(charges: readonly Charge[], nowMs: number): Allowance;
  /** Buckets in use, without those of the overflow. */
  readonly size: number;
  /** Charges so far that found no room for a bucket of their own, and shared one. */
  readonly overflowed: number;
}

export interface MemoryLimitsOptions {
  /** At most so many buckets, besides 1,024 of the overflow: 262,144, which take 16 MB. */
  readonly capacity?: number;
  /** Two 32-bit words that nobody else knows: random. */
  readonly hashKey?: readonly [number, number];
}

const CAPACITY = 262_144;

/** Limits with no bucket in use. */
export function createMemoryLimits(options: MemoryLimitsOptions = {}): MemoryLimits {
  const hash = createKeyedHash(options.hashKey ?? [randomInt(2 ** 32), randomInt(2 ** 32)]);
  const buckets = createBuckets(options.capacity ?? CAPACITY, hash);
  return {
    spend: (charges, nowMs) => spend(buckets, charges, nowMs),
    get size() {
      return buckets.size;
    },
    get overflowed() {
      return buckets.overflowed;
    },
  };
}

function spend(buckets: Buckets, charges: readonly Charge[], nowMs: number): Allowance {
  const slots: number[] = [];
  const waits: number[] = [];
  for (const charge of charges) {
    const slot = locate(buckets, charge, nowMs);
    slots.push(slot);
    waits.push(take(buckets, slot, charge.limit, nowMs));
  }
  const refused = charges.findIndex((charge, at) => !charge.shadow && waits[at] !== 0);
  if (refused >= 0) {
    for (const [at, charge] of charges.entries()) {
      const isTaken = !charge.shadow && waits[at] === 0;
      if (isTaken) giveBack(buckets, slots[at] ?? 0, charge.limit, nowMs);
    }
  }
  return {
    refused,
    retryAfterMs: longestWait(charges, waits),
    spent: charges.map((charge, at) => !charge.shadow || waits[at] === 0),
  };
}

/** Of the charges that can refuse. */
function longestWait(charges: readonly Charge[], waits: readonly number[]): number {
  return charges.reduce(
    (longest, charge, at) => (charge.shadow ? longest : Math.max(longest, waits[at] ?? 0)),
    0,
  );
}
