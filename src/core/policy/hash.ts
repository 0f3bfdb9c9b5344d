import { createHash } from "node:crypto";
import { canonicalJson } from "../canonical-json.ts";
import type { Policy, Rule } from "./policy.ts";

/** The parts of a policy that say what it decides. */
export type PolicyContent = Omit<Policy, "file" | "hash" | "claimants" | "identify" | "evaluator">;

/** SHA-256 (hex) of a policy's document: two files that say the same in other words have one hash. */
export function hashPolicy(content: PolicyContent): string {
  return hashDocument(policyDocument(content));
}

/** SHA-256 (hex) of a document that `policyDocument` made. */
export function hashDocument(document: string): string {
  return createHash("sha256").update(document).digest("hex");
}

/**
 * A policy as canonical JSON (RFC 8785): defaults filled, `use:` resolved, conditions as they were
 * written. `restorePolicy` reads it again.
 */
export function policyDocument(content: PolicyContent): string {
  const { site, failMode, verify, robots, ledger, receipts, bots, defaultBot } = content;
  const { sets, rules, defaultRule } = content;
  return canonicalJson({
    ...{ site, failMode, verify, robots, ledger, receipts, bots, defaultBot },
    sets: Object.fromEntries([...sets].map(([name, items]) => [name, plainItems(items)])),
    rules: rules.map(plainRule),
    defaultAction: defaultRule.action,
  });
}

/** Integers of sets are read as safe integers, so no digit is lost. */
function plainItems(items: readonly string[] | readonly bigint[]): readonly (string | number)[] {
  return items.map((item) => (typeof item === "bigint" ? Number(item) : item));
}

function plainRule({ when, ...rest }: Rule): unknown {
  return { ...rest, when: when?.source };
}
