import { generateRobots } from "../robots/generate.ts";
import type { RobotsNote } from "../robots/note.ts";
import { faultAt } from "../yaml/schema-faults.ts";
import type { CompiledText } from "./compile-text.ts";
import type { Warning } from "./fault.ts";
import { itemsOf, memberOf } from "./schema/policy-file.ts";

/** What holds for every file deserves no look. */
const STANDING: ReadonlySet<string> = new Set(["other_readings", "other_case"]);

/** What the robots.txt that a policy serves does not say, with places. */
export function robotsWarnings({ result, document }: CompiledText): readonly Warning[] {
  if (result.kind === "faulty" || document === undefined || !result.policy.robots.serve) return [];
  const { hosts } = result.policy.site;
  const isExact = hosts.every((host) => !host.startsWith("*"));
  const { notes } = generateRobots(result.policy, isExact ? hosts[0] : undefined);
  const rules = itemsOf(memberOf(document.value, "rules")).map((rule) => memberOf(rule, "id"));
  const warningOf = ({ ruleId, code, message, witness }: RobotsNote): Warning => {
    const index = rules.indexOf(ruleId);
    const path = index < 0 ? ["robots"] : ["rules", index];
    const example = witness === undefined ? "" : `, as on ${witness}`;
    const fault = faultAt(document, path, `robots.txt: ${message}${example}`);
    return { ...fault, code: `robots_${code}` };
  };
  return notes.filter(({ code }) => !STANDING.has(code)).map(warningOf);
}
