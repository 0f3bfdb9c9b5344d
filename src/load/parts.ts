import type { PolicyParts } from "../core/policy/create-policy.ts";
import type { Rule } from "../core/policy/policy.ts";
import type { SiteFiles } from "../core/robots/site-files.ts";
import type { LoadedPolicy } from "./loaded.ts";

/** What the loading thread is asked. */
export type LoadRequest =
  | { readonly kind: "load"; readonly path: string }
  /** For the next part. */
  | { readonly kind: "next" };

/** What it answers: small pieces, since each is copied while requests wait. */
export type LoadPart =
  | { readonly kind: "faulty"; readonly faults: readonly string[] }
  | {
      readonly kind: "policy";
      readonly parts: Omit<PolicyParts, "rules">;
      readonly document: string;
      readonly robots: SiteFiles | undefined;
    }
  /** More rules of the policy that came last. */
  | { readonly kind: "rules"; readonly rules: readonly Rule[] }
  | { readonly kind: "end" };

const RULES_A_PART = 50;

/** Takes loaded policies apart: all but their functions, which cannot leave a thread. */
export function* partsOf(loaded: readonly LoadedPolicy[]): Generator<LoadPart> {
  for (const { policy, document, robots } of loaded) {
    const { rules, identify: _identify, evaluator: _evaluator, ...parts } = policy;
    yield { kind: "policy", parts, document, robots };
    for (let start = 0; start < rules.length; start += RULES_A_PART) {
      yield { kind: "rules", rules: rules.slice(start, start + RULES_A_PART) };
    }
  }
}
