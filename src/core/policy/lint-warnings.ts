import type { Path } from "../yaml/document.ts";
import { faultAt } from "../yaml/schema-faults.ts";
import type { CompiledText } from "./compile-text.ts";
import type { Warning } from "./fault.ts";
import { type LintSubject, lintPolicy } from "./lint.ts";
import { itemsOf, memberOf } from "./schema/policy-file.ts";

/** What lint finds in a policy that loads, with places. As slow as lint is. */
export function lintWarnings({ result, document, botIndexes }: CompiledText): readonly Warning[] {
  if (result.kind === "faulty" || document === undefined) return [];
  const ruleIndexes = new Map(
    itemsOf(memberOf(document.value, "rules")).map((rule, index) => [memberOf(rule, "id"), index]),
  );
  return lintPolicy(result.policy).map(({ code, subject, message }) => {
    const path = pathOf(subject, ruleIndexes, botIndexes);
    return { ...faultAt(document, path, message), code };
  });
}

function pathOf(
  subject: LintSubject,
  ruleIndexes: ReadonlyMap<unknown, number>,
  botIndexes: ReadonlyMap<string, number>,
): Path {
  switch (subject.kind) {
    case "rule":
      return ["rules", ruleIndexes.get(subject.ruleId) ?? 0, ...partOf(subject.part)];
    case "bot":
      return ["bots", botIndexes.get(subject.botId) ?? 0];
    case "set":
      return ["sets", subject.name];
  }
}

function partOf(part: Extract<LintSubject, { readonly kind: "rule" }>["part"]): Path {
  switch (part) {
    case "when":
    case "action":
      return [part];
    case "limit_key":
      return ["action", "limit", "key"];
  }
}
