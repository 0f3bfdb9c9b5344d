import type { Command } from "commander";
import { createSiteLookup } from "../core/policy/hosts.ts";
import type { Policy } from "../core/policy/policy.ts";
import { generateRobots } from "../core/robots/generate.ts";
import type { RobotsNote } from "../core/robots/note.ts";
import { checkPolicies } from "../load.ts";
import { normaliseHost } from "../server/visitor.ts";
import {
  CannotRun,
  cannotRunFor,
  EXIT,
  type ExitCode,
  note,
  printJson,
  runCommand,
} from "./exit.ts";

interface Options {
  readonly config: string;
  readonly host?: string;
  readonly json?: boolean;
}

/** `crawlwall robots`: the file that crawlers are served, and what it does not say. */
export function registerRobots(program: Command): void {
  program
    .command("robots")
    .description("print the robots.txt that a policy makes, and what it does not say")
    .requiredOption("--config <path>", "a policy file, or a folder of them")
    .option("--host <host>", "whose file (default: the first exact host, else any)")
    .option("--json", "print JSON")
    .action((options: Options) => runCommand(() => print(options)));
}

function print(options: Options): ExitCode {
  const checked = checkPolicies(options.config);
  if (checked.kind === "unreadable") throw new CannotRun(checked.causes);
  if (checked.errors.length > 0) throw cannotRunFor(checked.errors);
  const { policy, host } = choose(checked.policies, options.host);
  const { body, notes } = generateRobots(policy, host);
  if (options.json === true) {
    printJson({ body, notes: notes.map(toJson) });
    return EXIT.fine;
  }
  process.stdout.write(body);
  if (!policy.robots.serve)
    note("robots.serve is off: the site's own file is served, not this one");
  for (const one of notes) note(describe(one));
  return EXIT.fine;
}

/** The site, and the host where the file is of an exact one. */
function choose(
  policies: readonly Policy[],
  asked: string | undefined,
): { readonly policy: Policy; readonly host: string | undefined } {
  const hosts = policies.flatMap(({ site }) => site.hosts);
  const exact = hosts.filter((host) => !host.startsWith("*"));
  const host = asked === undefined ? exact[0] : normaliseHost(asked);
  const policy = host === undefined ? policies[0] : createSiteLookup(policies)(host);
  if (policy === undefined) {
    throw new CannotRun([`--host: no site speaks for \`${asked}\`; there is ${hosts.join(", ")}`]);
  }
  return { policy, host: host !== undefined && exact.includes(host) ? host : undefined };
}

function toJson({ ruleId, code, message, witness }: RobotsNote): unknown {
  return { rule_id: ruleId === "" ? null : ruleId, code, message, witness: witness ?? null };
}

function describe({ ruleId, code, message, witness }: RobotsNote): string {
  const subject = ruleId === "" ? "" : `rule \`${ruleId}\` `;
  const example = witness === undefined ? "" : `, as on ${witness}`;
  return `${subject}${message}${example} (${code})`;
}
