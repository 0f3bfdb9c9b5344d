import { createIdentifier } from "../bot/identify.ts";
import { createEvaluator } from "./evaluate.ts";
import type { Policy } from "./policy.ts";

/** Everything of a policy that can be written down or sent to another thread: all but its functions. */
export type PolicyParts = Omit<Policy, "identify" | "evaluator">;

/** A policy that can run, made from its checked parts. */
export function createPolicy(parts: PolicyParts): Policy {
  return {
    ...parts,
    identify: createIdentifier(parts.claimants, parts.defaultBot),
    evaluator: createEvaluator(parts),
  };
}
