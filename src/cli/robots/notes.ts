import type { RobotsNote } from "../../core/robots/note.ts";

/** A note on a robots.txt file as `--json` prints it. */
export function noteJson(note: RobotsNote): Readonly<Record<string, string | null>> {
  const { ruleId, code, message, witness } = note;
  return { rule_id: ruleId === "" ? null : ruleId, code, message, witness: witness ?? null };
}

/** A note on a robots.txt file as one line for people. */
export function noteLine({ ruleId, code, message, witness }: RobotsNote): string {
  const subject = ruleId === "" ? "" : `rule \`${ruleId}\` `;
  const example = witness === undefined ? "" : `, as on ${witness}`;
  return `${subject}${message}${example} (${code})`;
}
