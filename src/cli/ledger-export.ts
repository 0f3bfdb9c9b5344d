import { once } from "node:events";
import { type Command, Option } from "commander";
import { CSV_HEADER, type StoredRow, storedRowToCsv, storedRowToJson } from "../core/ledger/row.ts";
import type { EventPlace, EventsPage } from "../io/ledger/events.ts";
import { EXIT, type ExitCode, runCommand } from "./exit.ts";
import { type LedgerPlace, readTime, withLedger, withLedgerFlags } from "./ledger/access.ts";

interface Options extends LedgerPlace {
  readonly format: "jsonl" | "csv";
  readonly since?: string;
  readonly until?: string;
  readonly site?: string;
}

/** `crawlwall ledger export`: events on stdout, oldest first, a page of them in memory. */
export function registerLedgerExport(ledger: Command): void {
  withLedgerFlags(ledger.command("export").description("write events to stdout, oldest first"))
    .addOption(
      new Option("--format <format>", "of the lines").choices(["jsonl", "csv"]).default("jsonl"),
    )
    .option("--since <time>", "a duration before now, or a time (default: the first event)")
    .option("--until <time>", "a duration before now, or a time (default: the last event)")
    .option("--site <id>", "one site only")
    .action((options: Options) => runCommand(() => exportEvents(options)));
}

const PAGE = 1000;

async function exportEvents(options: Options): Promise<ExitCode> {
  const toLine: (row: StoredRow) => string =
    options.format === "csv" ? storedRowToCsv : storedRowToJson;
  const end = options.format === "csv" ? "\r\n" : "\n";
  const nowMs = Date.now();
  const since = options.since && readTime("--since", options.since, nowMs);
  const until = options.until && readTime("--until", options.until, nowMs);
  return withLedger(options, "read", async (query) => {
    if (options.format === "csv") process.stdout.write(`${CSV_HEADER}${end}`);
    let after: EventPlace | undefined;
    do {
      const page: EventsPage = await query("events", {
        since,
        until,
        siteId: options.site,
        after,
        limit: PAGE,
      });
      const lines = page.rows.map((row) => toLine(row) + end).join("");
      if (lines !== "" && !process.stdout.write(lines)) await once(process.stdout, "drain");
      after = page.last;
    } while (after !== undefined);
    return EXIT.fine;
  });
}
