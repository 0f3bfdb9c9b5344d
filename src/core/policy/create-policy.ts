import { identifierSteps } from "../bot/identify.ts";
import { finish, type Steps } from "../steps.ts";
import { evaluatorSteps } from "./evaluate.ts";
import type { Policy } from "./policy.ts";

/** Everything of a policy that can be written down or sent to another thread: all but its functions. */
export type PolicyParts = Omit<Policy, "identify" | "evaluator">;

/** A policy that can run, made from its checked parts. */
export function createPolicy(parts: PolicyParts): Policy {
  return finish(policySteps(parts));
}

/** As `createPolicy`, in steps. */
export function* policySteps(parts: PolicyParts): Steps<Policy> {
  const identify = yield* identifierSteps(parts.claimants, parts.defaultBot);
  const evaluator = yield* evaluatorSteps(parts);
  return { ...parts, identify, evaluator };
}
