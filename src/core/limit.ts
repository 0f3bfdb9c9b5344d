import type { Limit } from "./policy/policy.ts";

/** One bucket from which a decision takes a token. */
export interface Charge {
  readonly ruleId: string;
  readonly limit: Limit;
  /** Identifies the bucket: site, rule, key path and value, each told apart. Not hashed yet. */
  readonly bucket: string;
  /** A shadow rule's bucket is spent on its own and never refuses. */
  readonly shadow: boolean;
}

/** What the buckets said to a decision's charges. */
export interface Allowance {
  /** Index of the first charge (not shadow) that found no token, or -1: all were spent. */
  readonly refused: number;
  /** Milliseconds until each refusing bucket has a token for a client alone on it; 0 when none refused. */
  readonly retryAfterMs: number;
  /** For each charge of a shadow rule, by index, whether it found a token; true for the others. */
  readonly spent: readonly boolean[];
}

/** How much a bucket may lack of a whole token and still give it: what adding fractions loses. */
const TOKEN_ROUNDING = 1e-6;

/**
 * The tokens of a bucket `elapsedMs` after it held `tokens`; a new bucket holds infinitely many and
 * so starts full. A clock that steps back (`elapsedMs` below zero) neither refills nor drains, and a
 * limit that has changed since clamps to its burst.
 */
export function refill(tokens: number, elapsedMs: number, limit: Limit): number {
  const refilled = tokens + (Math.max(0, elapsedMs) * limit.rpm) / 60_000;
  return Math.min(limit.burst, refilled);
}

/** Whether a bucket with so many tokens has one to give. */
export function hasToken(tokens: number): boolean {
  return tokens >= 1 - TOKEN_ROUNDING;
}

/** Whole milliseconds until a bucket has `wanted` tokens if nobody else takes from it; at least 0. */
export function msUntil(wanted: number, tokens: number, limit: Limit): number {
  return Math.max(0, Math.ceil(((wanted - tokens) * 60_000) / limit.rpm));
}
