import type { Command } from "commander";
import type { LedgerReport } from "../core/ledger/report.ts";
import type { LedgerQuery } from "../io/ledger/ledger.ts";
import type { ReportRequest } from "../io/ledger/report.ts";
import { CannotRun, EXIT, type ExitCode, printJson, runCommand } from "./exit.ts";
import { type LedgerPlace, readTime, withLedger, withLedgerFlags } from "./ledger/access.ts";
import { formatReport } from "./ledger/report-text.ts";
import { printInvoice } from "./ledger/statement.ts";
import { formatStatement } from "./ledger/statement-text.ts";

interface Options extends LedgerPlace {
  readonly since: string;
  readonly until?: string;
  readonly site?: string;
  readonly metered?: boolean;
  readonly csv?: boolean;
  readonly watch?: boolean;
  readonly json?: boolean;
}

/** `crawlwall ledger report`: what happened, and what enforcing would have changed. */
export function registerLedgerReport(ledger: Command): void {
  withLedgerFlags(
    ledger
      .command("report")
      .description("count what happened, and what enforcing would have changed"),
  )
    .option("--since <time>", "a duration before now, or a time", "24h")
    .option("--until <time>", "a duration before now, or a time (default: now)")
    .option("--site <id>", "one site only")
    .option("--metered", "what metered requests come to: held, settled and void amounts")
    .option("--csv", "with `--metered`: each request as a line of an invoice")
    .option("--watch", "again every two seconds, until interrupted")
    .option("--json", "print JSON")
    .action((options: Options) => runCommand(() => report(options)));
}

const WATCH_MS = 2000;

async function report(options: Options): Promise<ExitCode> {
  if (options.watch === true && options.json === true) {
    throw new CannotRun(["`--watch` draws for people; leave out `--json`"]);
  }
  if (options.csv === true && options.metered !== true) {
    throw new CannotRun(["`--csv` lists metered requests; write `--metered --csv`"]);
  }
  return withLedger(options, "read", async (query) => {
    if (options.metered === true) return reportMetered(query, options);
    if (options.watch === true) return watch(query, options);
    const counted = await read(query, options);
    if (options.json === true) printJson(counted);
    else process.stdout.write(`${formatReport(counted)}\n`);
    return EXIT.fine;
  });
}

async function reportMetered(query: LedgerQuery, options: Options): Promise<ExitCode> {
  const asked = windowOf(options);
  if (options.csv === true) {
    await printInvoice(query, asked);
    return EXIT.fine;
  }
  const statement = await query("statement", asked);
  if (options.json === true) printJson(statement);
  else process.stdout.write(`${formatStatement(statement)}\n`);
  return EXIT.fine;
}

function read(query: LedgerQuery, options: Options): Promise<LedgerReport> {
  return query("report", windowOf(options));
}

function windowOf(options: Options): ReportRequest {
  const nowMs = Date.now();
  const since = readTime("--since", options.since, nowMs);
  const until = options.until && readTime("--until", options.until, nowMs);
  if (until && since >= until) throw new CannotRun(["`--since` is not before `--until`"]);
  return { since, until, siteId: options.site };
}

async function watch(query: LedgerQuery, options: Options): Promise<ExitCode> {
  let isInterrupted = false;
  let wake: () => void = () => undefined;
  process.once("SIGINT", () => {
    isInterrupted = true;
    wake();
  });
  while (!isInterrupted) {
    const text = formatReport(await read(query, options));
    const clear = process.stdout.isTTY ? "\u001b[2J\u001b[H" : "";
    process.stdout.write(`${clear}${text}\n`);
    await new Promise<void>((resolve) => {
      wake = resolve;
      setTimeout(resolve, WATCH_MS).unref();
    });
  }
  return EXIT.fine;
}
