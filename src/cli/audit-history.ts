import type { Command } from "commander";
import { type AuditPeriod, periodsOf } from "../core/audit/changes.ts";
import type { StoredAudit } from "../core/audit/stored.ts";
import { CannotRun, EXIT, type ExitCode, printJson, runCommand } from "./exit.ts";
import { type LedgerPlace, withLedger, withLedgerFlags } from "./ledger/access.ts";
import { formatTable, type TableColumn } from "./ledger/table.ts";

interface Options extends LedgerPlace {
  readonly host: string;
  readonly agent?: string;
  readonly limit: string;
  readonly json?: boolean;
}

/** `crawlwall audit history`: what a host's audits said over time, and when that changed. */
export function registerAuditHistory(audit: Command): void {
  withLedgerFlags(
    audit.command("history").description("what the audits of a host said, and when it changed"),
  )
    .requiredOption("--host <host>", "the host, as it was audited")
    .option("--agent <token>", "one crawler only")
    .option("--limit <n>", "the newest so many audits", "10000")
    .option("--json", "print JSON")
    .action((options: Options) => runCommand(() => history(options)));
}

async function history(options: Options): Promise<ExitCode> {
  const { host, agent } = options;
  if (!/^[1-9]\d{0,6}$/.test(options.limit)) {
    throw new CannotRun([
      `--limit: \`${options.limit}\` is no count; write a whole number above 0`,
    ]);
  }
  const limit = Number(options.limit);
  const audits = await withLedger(options, "read", (query) =>
    query("audits", { host: host.toLowerCase(), agent, limit }),
  );
  const periods = periodsOf(audits);
  if (options.json === true) printJson({ host, periods });
  else if (periods.length === 0) process.stdout.write(`no audits of ${host}\n`);
  else process.stdout.write(`${formatTable(COLUMNS, periods).join("\n")}\n`);
  return EXIT.fine;
}

const COLUMNS: readonly TableColumn<AuditPeriod>[] = [
  { title: "FIRST", cell: (period) => toSecond(period.first_checked_at) },
  { title: "LAST", cell: (period) => toSecond(period.last_checked_at) },
  { title: "CHECKS", cell: (period) => period.checks },
  { title: "AGENT", cell: (period) => period.audited_agent },
  { title: "STATUS", cell: ({ record }) => `${record.robots_status_code ?? "-"}` },
  { title: "DELAY", cell: ({ record }) => `${record.crawl_delay_seconds ?? "-"}` },
  { title: "CODE", cell: ({ record }) => codeOf(record) },
  { title: "CHANGED", cell: (period) => period.changed.join(", ") },
];

function codeOf({ parser_error_code: code, error_detail: detail }: StoredAudit): string {
  return detail === null ? (code ?? "-") : `${code} (${detail})`;
}

function toSecond(time: string): string {
  return time.replace(/\.\d+Z$/, "Z");
}
