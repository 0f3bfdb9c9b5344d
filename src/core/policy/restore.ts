import { checkCondition } from "../cel/check.ts";
import { type CelEnvironment, createEnvironment } from "../cel/environment.ts";
import { hashDocument, type PolicyContent } from "./hash.ts";
import { type Action, DEFAULT_RULE_ID, type Rule, type Sets } from "./policy.ts";

/** A policy that decided once, read from what was kept of it. */
export interface RestoredPolicy {
  readonly content: PolicyContent;
  readonly environment: CelEnvironment;
}

/** The document's own shape: `policyDocument` writes it, and the hash proves that it did. */
interface PolicyForm extends Omit<PolicyContent, "sets" | "rules" | "defaultRule"> {
  readonly sets: Readonly<Record<string, readonly string[] | readonly number[]>>;
  readonly rules: readonly (Omit<Rule, "when"> & { readonly when?: string })[];
  readonly defaultAction: Action;
}

/**
 * Reads a document that `policyDocument` made. Undefined where it does not have the hash, or a rule in
 * it is of another time and cannot be read today.
 */
export function restorePolicy(document: string, hash: string): RestoredPolicy | undefined {
  if (hashDocument(document) !== hash) return undefined;
  const form: PolicyForm = JSON.parse(document);
  const sets: Sets = new Map(
    Object.entries(form.sets).map(([name, items]) => [name, setOf(items)]),
  );
  const environment = createEnvironment({ sets });
  const rules: Rule[] = [];
  for (const rule of form.rules) {
    if (rule.when === undefined) {
      rules.push({ ...rule, when: undefined });
      continue;
    }
    const checked = checkCondition(rule.when, environment);
    if (checked.kind === "faulty") return undefined;
    rules.push({ ...rule, when: checked.expression });
  }
  const defaultRule: Rule = {
    id: DEFAULT_RULE_ID,
    priority: undefined,
    when: undefined,
    action: form.defaultAction,
    mode: "enforce",
    receipt: false,
    tags: [],
  };
  return { content: { ...form, sets, rules, defaultRule }, environment };
}

/** JSON has no integers apart from numbers; in rules they are. */
function setOf(
  items: readonly string[] | readonly number[],
): readonly string[] | readonly bigint[] {
  const texts = items.filter((item) => typeof item === "string");
  const numbers = items.filter((item) => typeof item === "number");
  return numbers.length > 0 ? numbers.map(BigInt) : texts;
}
