import { type Command, Option } from "commander";
import { VERIFICATIONS, type Verification } from "../core/bot/bot.ts";
import { parseAddress } from "../core/cidr.ts";
import type { Policy } from "../core/policy/policy.ts";
import { normaliseHost } from "../server/visitor.ts";
import { CannotRun, EXIT, type ExitCode, note, printJson, runCommand } from "./exit.ts";
import { defaultHost, type Trial, type TrialRequest, tryRequest } from "./policy/trial.ts";
import { addWorldOptions, type OpenWorld, openWorld, type WorldOptions } from "./policy/world.ts";

interface Options extends WorldOptions {
  readonly ua: string;
  readonly path: string;
  readonly ip: string;
  readonly method: string;
  readonly host?: string;
  readonly header: readonly string[];
  readonly verification?: Verification;
  readonly json?: boolean;
}

/** `crawlwall policy eval`: what the service would decide about one request. */
export function registerPolicyEval(policy: Command): void {
  addWorldOptions(policy.command("eval").description("decide about one request, as serve would"))
    .requiredOption("--ua <text>", "the User-Agent")
    .requiredOption("--path <path>", "the path, with ?query if there is one")
    .requiredOption("--ip <address>", "the client's address")
    .option("--method <method>", "the method", "GET")
    .option("--host <host>", "the host (default: the first of the policy)")
    .option("--header <line>", "`name: value`; may be repeated", collect, [])
    .addOption(
      new Option("--verification <outcome>", "take this outcome as given").choices(VERIFICATIONS),
    )
    .option("--json", "print JSON")
    .action((options: Options) => runCommand(() => evaluate(options)));
}

function collect(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value];
}

async function evaluate(options: Options): Promise<ExitCode> {
  const world = openWorld(options);
  try {
    const described = describeRequest(options, world);
    const policy = siteOf(world, described.host);
    const result = await tryRequest(world, described);
    if (result.kind === "unusable") throw new CannotRun([result.cause]);
    const { trial } = result;
    if (trial.cause !== undefined) note(`verification could not complete: ${trial.cause}`);
    if (options.verification !== undefined && trial.outcome.bot.isDefault) {
      note("--verification has no effect: this User-Agent claims no bot");
    }
    if (options.json === true) printJson(toJson(policy, trial));
    else process.stdout.write(`${toText(policy, trial)}\n`);
    return EXIT.fine;
  } finally {
    world.close();
  }
}

function describeRequest(options: Options, world: OpenWorld): TrialRequest {
  if (parseAddress(options.ip) === undefined) {
    throw new CannotRun([`--ip: \`${options.ip}\` is no address; write one such as 203.0.113.7`]);
  }
  return {
    method: options.method,
    host: options.host ?? defaultHost(world.policies[0]),
    path: options.path,
    ip: options.ip,
    userAgent: options.ua,
    headers: options.header.flatMap(splitHeader),
    verification: options.verification,
  };
}

function splitHeader(line: string): readonly string[] {
  const colon = line.indexOf(":");
  if (colon < 1) throw new CannotRun([`--header: \`${line}\` is no header; write \`name: value\``]);
  return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
}

function siteOf(world: OpenWorld, host: string): Policy {
  const policy = world.findSite(normaliseHost(host));
  if (policy !== undefined) return policy;
  const hosts = world.policies.flatMap(({ site }) => site.hosts).join(", ");
  throw new CannotRun([`--host: no site speaks for \`${host}\`; there is ${hosts}`]);
}

function toJson({ site }: Policy, { outcome, request }: Trial): unknown {
  const { bot, verification, decision } = outcome;
  return {
    site: site.id,
    mode: site.mode,
    bot: {
      id: bot.id,
      name: bot.name,
      class: bot.class,
      operator: bot.operator === "" ? null : bot.operator,
      claimed: !bot.isDefault,
      verified: verification === "verified",
      verification,
    },
    client_ip: outcome.event.ip,
    readings: request?.target.readings ?? [],
    decision: {
      action: decision.action,
      rule_id: decision.ruleId,
      priority: decision.priority ?? null,
      status: decision.status,
      reason: decision.reason ?? null,
      enforced: decision.enforced,
      reading: decision.reading ?? null,
    },
    shadowed: outcome.event.shadowed,
    faults: outcome.event.faults,
  };
}

function toText({ site }: Policy, { outcome, request }: Trial): string {
  const { bot, verification, decision } = outcome;
  const isRefused = decision.status >= 400;
  const served = isRefused ? "served, would be refused" : "served";
  const lines = [
    ["site", `${site.id} (${site.mode})`],
    ["bot", `${bot.id} (${bot.class}), ${bot.isDefault ? "not claimed" : verification}`],
    ["decision", `${decision.action}, status ${decision.status}`],
    ["rule", decision.ruleId],
    ["reason", decision.reason],
    ["outcome", isRefused && decision.enforced ? "refused" : served],
    ["path", request?.target.readings.join("  ")],
    ["decided by", decision.reading],
    ...outcome.event.shadowed.map((rule) => ["shadow rule", `${rule.rule_id}: ${rule.action}`]),
    ...outcome.event.faults.map((fault) => ["rule fault", `${fault.rule_id}: ${fault.message}`]),
  ];
  return lines
    .filter(([, value]) => value !== undefined)
    .map(([name = "", value]) => `${name.padEnd(12)} ${value}`)
    .join("\n");
}
