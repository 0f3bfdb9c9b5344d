import type { Command } from "commander";
import type { SourceStatus } from "../io/verify/status.ts";
import { openVerifier } from "../io/verify/verifier.ts";
import { loadPolicies } from "../load.ts";
import { CannotRun, EXIT, type ExitCode, printJson, runCommand } from "./exit.ts";
import { flag, switchFlag } from "./flags.ts";

interface Options {
  readonly config: string;
  readonly dataDir: string;
  readonly insecureSources?: boolean;
  readonly json?: boolean;
}

/** `crawlwall verifiers status`: the address lists that verification relies on (contract 7). */
export function registerVerifiersStatus(program: Command): void {
  program
    .command("verifiers")
    .description("look at what proves crawlers")
    .command("status")
    .description("state of every address list: that of the data dir, else a fetch")
    .requiredOption("--config <path>", "a policy file, or a folder of them")
    .addOption(flag("--data-dir <dir>", "where the service keeps its lists", "data"))
    .addOption(
      switchFlag("--insecure-sources", "allow http and private addresses for lists (tests)"),
    )
    .option("--json", "print JSON")
    .action((options: Options) => runCommand(() => run(options)));
}

async function run(options: Options): Promise<ExitCode> {
  const lines = await readStatus(options);
  if (options.json === true) printJson(lines);
  else process.stdout.write(`${formatTable(lines)}\n`);
  const isBad = lines.some(({ state }) => state === "failed" || state === "expired");
  return isBad ? EXIT.found : EXIT.fine;
}

async function readStatus(options: Options): Promise<readonly SourceStatus[]> {
  const loaded = loadPolicies(options.config);
  if (loaded.kind === "faulty") throw new CannotRun(loaded.faults);
  const verifier = openVerifier({
    dataDir: options.dataDir,
    dnsServers: undefined,
    timeoutMs: 0,
    allowInsecureSources: options.insecureSources === true,
    onlyMissing: true,
  });
  verifier.configure(loaded.policies);
  await verifier.ready();
  const status = verifier.status();
  verifier.close();
  return status;
}

const HEADINGS = ["BOT", "TYPE", "STATE", "CIDRS", "FETCHED", "EXPIRES", "STALE", "SOURCE"];

function formatTable(lines: readonly SourceStatus[]): string {
  const rows = [HEADINGS, ...lines.map(toRow)];
  const widths = HEADINGS.map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "))
    .map((row) => row.trimEnd())
    .join("\n");
}

function toRow(line: SourceStatus): readonly string[] {
  const stale =
    line.stale_action === "use_stale" ? `use_stale ${line.max_stale}` : (line.stale_action ?? "-");
  const source = line.error === null ? (line.source ?? "-") : `${line.source}: ${line.error}`;
  const { bot_id: bot, type, state } = line;
  const cells = [line.cidrs === null ? "-" : `${line.cidrs}`, toSecond(line.fetched_at)];
  return [bot, type, state, ...cells, toSecond(line.expires_at), stale, source];
}

function toSecond(time: string | null): string {
  return time === null ? "-" : time.replace(/\.\d+Z$/, "Z");
}
