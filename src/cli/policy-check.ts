import type { Command } from "commander";
import { createEvaluator } from "../core/policy/evaluate.ts";
import { formatFault } from "../core/policy/fault.ts";
import type { Policy } from "../core/policy/policy.ts";
import { findKeyFaults } from "../io/receipts/keys.ts";
import { type Checked, checkPolicies } from "../load.ts";
import { CannotRun, EXIT, type ExitCode, note, printJson, runCommand } from "./exit.ts";

interface Options {
  readonly config: string;
  readonly strict?: boolean;
  readonly json?: boolean;
}

/** `crawlwall policy check`: every fault of a policy at once, and what deserves a look. */
export function registerPolicyCheck(policy: Command): void {
  policy
    .command("check")
    .description("find every fault of a policy, and what deserves a look")
    .requiredOption("--config <path>", "a policy file, or a folder of them")
    .option("--strict", "fail on warnings too")
    .option("--json", "print JSON")
    .action((options: Options) => runCommand(() => check(options)));
}

function check(options: Options): ExitCode {
  const checked = checkPolicies(options.config);
  if (checked.kind === "unreadable") throw new CannotRun(checked.causes);
  const { errors, warnings } = checked;
  const counted = options.strict === true ? warnings.length : 0;
  const valid = errors.length + counted === 0;
  if (options.json === true) {
    const evaluation = checked.policies.map(evaluationOf);
    printJson({ valid, errors, warnings, evaluation });
  } else {
    process.stdout.write(`${describe(checked, options.config)}\n`);
  }
  // Where a policy is checked, its key need not be: it is told, and counts as nothing.
  for (const fault of findKeyFaults(checked.policies)) note(`crawlwall: ${fault}`);
  return valid ? EXIT.fine : EXIT.found;
}

/** How far the rules of a policy are folded for each bot and outcome, and which are not at all. */
function evaluationOf(policy: Policy): unknown {
  const bots = [...policy.bots, policy.defaultBot];
  const { lists, shortest, longest, reference } = createEvaluator({ ...policy, bots }).prepare();
  const unfolded = reference.map(({ ruleId, reason }) => ({ rule_id: ruleId, reason }));
  return { site: policy.site.id, lists, shortest, longest, reference: unfolded };
}

type CheckedSet = Extract<Checked, { readonly kind: "checked" }>;

function describe({ policies, errors, warnings }: CheckedSet, path: string): string {
  const lines = [
    ...errors.map(formatFault),
    ...warnings.map((warning) => `${formatFault(warning)} (warning ${warning.code})`),
  ];
  const counts = [count(errors.length, "fault"), count(warnings.length, "warning")].join(", ");
  if (errors.length > 0) return [...lines, `${path}: ${counts}`].join("\n");
  const sites = policies.map(({ file, site, bots, rules }) => {
    const parts = [count(bots.length, "bot"), count(rules.length, "rule")].join(", ");
    return `${file}: site \`${site.id}\`, ${site.mode}, ${parts}`;
  });
  return [...lines, ...sites, counts].join("\n");
}

function count(many: number, thing: string): string {
  return `${many === 0 ? "no" : many} ${thing}${many === 1 ? "" : "s"}`;
}
