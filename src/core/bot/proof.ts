import type { Verification } from "./bot.ts";

/** What a verifier saw, by verifier kind: `{ip_ranges: {list, version, prefix}}` (contract 6). */
export type Evidence = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** The outcome of verifying a claim, and why. */
export interface Proof {
  readonly verification: Verification;
  readonly evidence: Evidence | undefined;
  /** For `unavailable`: which source or server, and what went wrong; for people. */
  readonly cause: string | undefined;
}

/** What is known of a claim without waiting for the network. */
export type Check =
  | { readonly kind: "settled"; readonly proof: Proof }
  /** DNS or a signature would have to be asked; `possible` are the outcomes that could come of it. */
  | { readonly kind: "open"; readonly possible: readonly Verification[] };

/**
 * One outcome from those of several verifiers or sources (contract 1): verified if any proves; else
 * unavailable if any could not complete; else refuted if any said no; else unverifiable.
 */
export function combineVerifications(outcomes: readonly Verification[]): Verification {
  for (const outcome of ["verified", "unavailable", "refuted"] as const) {
    if (outcomes.includes(outcome)) return outcome;
  }
  return "unverifiable";
}
