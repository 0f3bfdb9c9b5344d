import { readdirSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { type Effort, runSuite, type SuiteResult } from "./rounds.ts";
import type { Suite } from "./suite.ts";
import { table } from "./table.ts";

/*
 * `npm run bench -- <suite>… [--json] [--rounds 5] [--seconds 3]`. Compare the ratios: the rates
 * depend on the machine and on what else it does. Exit code 0: every goal reached; 1: one missed;
 * 2: could not run.
 */

const SUITES = new URL("suites/", import.meta.url);

process.exitCode = await main();

async function main(): Promise<number> {
  const options = readOptions();
  const known = readdirSync(SUITES).map((file) => file.replace(/\.ts$/, ""));
  const unknown = options.names.filter((name) => !known.includes(name));
  if (options.names.length === 0 || unknown.length > 0) {
    const wrong = unknown.map((name) => `\`${name}\``).join(", ");
    console.error(
      `${wrong === "" ? "which suite?" : `no suite ${wrong};`} there are ${known.join(", ")}`,
    );
    return 2;
  }
  const results: SuiteResult[] = [];
  for (const name of options.names) {
    const suite = await loadSuite(name);
    const result = await runSuite(name, suite, options.effort, (line) => console.error(line));
    results.push(result);
    if (!options.json) console.log(table(result));
  }
  const [processor] = cpus();
  const machine = { node: process.version, cpu: processor?.model, cores: cpus().length };
  if (options.json) console.log(JSON.stringify({ machine, results }, undefined, 2));
  const outcomes = results.flatMap((result) => [...result.goals, ...result.facts]);
  return outcomes.every((outcome) => outcome.reached) ? 0 : 1;
}

function readOptions(): { names: readonly string[]; json: boolean; effort: Effort } {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: "boolean", default: false },
      rounds: { type: "string", default: "5" },
      seconds: { type: "string" },
    },
  });
  const rounds = Math.max(1, Math.trunc(Number(values.rounds)) || 1);
  const seconds = values.seconds === undefined ? undefined : Number(values.seconds);
  return { names: positionals, json: values.json, effort: { rounds, seconds } };
}

async function loadSuite(name: string): Promise<Suite> {
  const module: unknown = await import(new URL(`${name}.ts`, SUITES).href);
  if (typeof module === "object" && module !== null && "suite" in module) {
    // The file names its type: `export const suite: Suite`.
    return module.suite as Suite;
  }
  throw new Error(`bench/suites/${name}.ts exports no \`suite\``);
}
