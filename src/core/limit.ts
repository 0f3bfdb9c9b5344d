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
  /** Milliseconds until the refusing bucket has a token for a client alone on it; 0 when none refused. */
  readonly retryAfterMs: number;
  /** For each charge of a shadow rule, by index, whether it found a token; true for the others. */
  readonly spent: readonly boolean[];
}
