import { createHash } from "node:crypto";
import { canonicalJson } from "../canonical-json.ts";
import type { Policy, Rule } from "./policy.ts";

/** The parts of a policy that say what it decides. */
export type PolicyContent = Omit<Policy, "file" | "hash" | "identify" | "evaluator">;

/**
 * SHA-256 (hex) of the RFC 8785 form of a policy: defaults filled, `use:` resolved, conditions as they
 * were written. Two files that say the same in other words of YAML have one hash.
 */
export function hashPolicy(content: PolicyContent): string {
  const { sets, rules, defaultRule, ...rest } = content;
  const form = {
    ...rest,
    sets: Object.fromEntries([...sets].map(([name, items]) => [name, plainItems(items)])),
    rules: rules.map(plainRule),
    defaultAction: defaultRule.action,
  };
  return createHash("sha256").update(canonicalJson(form)).digest("hex");
}

/** Integers of sets are read as safe integers, so no digit is lost. */
function plainItems(items: readonly string[] | readonly bigint[]): readonly (string | number)[] {
  return items.map((item) => (typeof item === "bigint" ? Number(item) : item));
}

function plainRule({ when, ...rest }: Rule): unknown {
  return { ...rest, when: when?.source };
}
