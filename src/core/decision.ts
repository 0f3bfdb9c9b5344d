import type { Price } from "./policy/policy.ts";

/** What became of a request, as the ledger and the decision log name it (contract 6). */
export type DecisionAction =
  | "allow"
  | "allow_metered"
  | "rate_limit"
  | "rate_limit_exceeded"
  | "block";

/** A bucket that had no token, as the answer tells it. */
export interface RateLimited {
  /** Whole seconds until a client alone on its bucket gets a token; at least 1. */
  readonly retryAfterSeconds: number;
  readonly burst: number;
  readonly rpm: number;
}

export interface ShadowedRule {
  readonly ruleId: string;
  readonly action: DecisionAction;
  /** What this rule would have answered. */
  readonly status: number;
}

/** The answer to one request, and everything that led to it but the evidence. */
export interface Decision {
  readonly action: DecisionAction;
  readonly ruleId: string;
  readonly priority: number | undefined;
  /** The status under enforce: 200 for every allow and for a limit that was not reached. */
  readonly status: number;
  readonly reason: string | undefined;
  /** Whether the site enforces; else it is recorded and served. */
  readonly enforced: boolean;
  /** The reading of the path that decided, where it is not the canonical one. */
  readonly reading: string | undefined;
  readonly shadowed: readonly ShadowedRule[];
  readonly rateLimited: RateLimited | undefined;
  /** Of `allow_metered`, and of a 402 that names one. */
  readonly price: Price | undefined;
  readonly terms: string | undefined;
  readonly receipt: boolean;
  readonly tags: readonly string[];
}

/** Whether the proxy is told to refuse. */
export function isRefused(decision: Decision): boolean {
  return decision.enforced && decision.status >= 400;
}

/** Whether it was served, and enforce would have refused it (429 and 503 included). */
export function wouldBlock(decision: Decision): boolean {
  return !decision.enforced && decision.status >= 400;
}
