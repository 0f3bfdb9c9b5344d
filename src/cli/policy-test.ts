import { readFileSync } from "node:fs";
import type { Command } from "commander";
import type { Policy } from "../core/policy/policy.ts";
import { normaliseHost } from "../server/visitor.ts";
import { CannotRun, EXIT, type ExitCode, printJson, runCommand } from "./exit.ts";
import { type Fixture, type FixtureExpectation, parseFixtures } from "./policy/fixtures.ts";
import { defaultHost, type Trial, type TrialRequest, tryRequest } from "./policy/trial.ts";
import { addWorldOptions, type OpenWorld, openWorld, type WorldOptions } from "./policy/world.ts";

interface Options extends WorldOptions {
  readonly fixtures: string;
  readonly json?: boolean;
}

/** `crawlwall policy test`: runs described requests and compares what is decided. */
export function registerPolicyTest(policy: Command): void {
  addWorldOptions(policy.command("test").description("run the cases of a fixture file"))
    .requiredOption("--fixtures <file>", "the cases")
    .option("--json", "print JSON")
    .action((options: Options) => runCommand(() => test(options)));
}

interface Difference {
  readonly field: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

interface Result {
  readonly name: string;
  readonly ok: boolean;
  readonly differences: readonly Difference[];
}

async function test(options: Options): Promise<ExitCode> {
  const fixtures = readFixtures(options.fixtures);
  const world = openWorld(options);
  try {
    const cases: Result[] = [];
    for (const fixture of fixtures) cases.push(await runCase(world, fixture));
    const passed = cases.filter(({ ok }) => ok).length;
    const failed = cases.length - passed;
    if (options.json === true) printJson({ passed, failed, cases });
    else process.stdout.write(`${toText(cases)}\n${passed} passed, ${failed} failed\n`);
    return failed === 0 ? EXIT.fine : EXIT.found;
  } finally {
    world.close();
  }
}

function readFixtures(file: string): readonly Fixture[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new CannotRun([`--fixtures: ${file} cannot be read`], { cause: error });
  }
  const parsed = parseFixtures(file, text);
  if (parsed.kind === "faulty") throw new CannotRun(parsed.faults);
  return parsed.fixtures;
}

async function runCase(world: OpenWorld, fixture: Fixture): Promise<Result> {
  const described = describe(world.policies[0], fixture);
  const differences = await compare(world, described, fixture);
  return { name: fixture.name, ok: differences.length === 0, differences };
}

function describe(first: Policy, { request }: Fixture): TrialRequest {
  const { query } = request;
  return {
    method: request.method,
    host: request.host ?? defaultHost(first),
    path: query === undefined ? request.path : `${request.path}?${query}`,
    ip: request.ip,
    userAgent: request.user_agent,
    headers: Object.entries(request.headers).flatMap(([name, values]) =>
      [values].flat().flatMap((value) => [name, value]),
    ),
    verification: request.verification,
  };
}

async function compare(
  world: OpenWorld,
  described: TrialRequest,
  { expect }: Fixture,
): Promise<readonly Difference[]> {
  if (world.findSite(normaliseHost(described.host)) === undefined) {
    return [{ field: "host", expected: "a host of the policy", actual: described.host }];
  }
  const result = await tryRequest(world, described);
  if (result.kind === "unusable") {
    return [{ field: "request", expected: "headers of one request", actual: result.cause }];
  }
  const { trial } = result;
  if (trial.cause !== undefined && expect.verification !== "unavailable") {
    const actual = `unavailable: ${trial.cause}`;
    return [{ field: "verification", expected: "a completed check", actual }];
  }
  const expected = new Map<string, unknown>(Object.entries(expect));
  return Object.entries(observe(trial))
    .filter(([field]) => expected.has(field))
    .map(([field, actual]) => ({ field, expected: expected.get(field), actual }))
    .filter((pair) => JSON.stringify(pair.expected) !== JSON.stringify(pair.actual));
}

/** Everything that a case may expect, as it came out. */
function observe({ outcome }: Trial): Readonly<Record<keyof FixtureExpectation, unknown>> {
  const { bot, verification, decision } = outcome;
  return {
    bot_id: bot.id,
    bot_class: bot.class,
    claimed: !bot.isDefault,
    verified: verification === "verified",
    verification,
    rule_id: decision.ruleId,
    action: decision.action,
    reason: decision.reason ?? null,
    status: decision.status,
    enforced: decision.enforced,
    shadowed: decision.shadowed.map(({ ruleId }) => ruleId),
  };
}

function toText(cases: readonly Result[]): string {
  return cases
    .flatMap(({ name, ok, differences }) => [
      `${ok ? "ok  " : "FAIL"} ${name}`,
      ...differences.map(({ field, expected, actual }) => {
        return `     ${field}: expected ${shown(expected)}, was ${shown(actual)}`;
      }),
    ])
    .join("\n");
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
