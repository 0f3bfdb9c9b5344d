import type { Command } from "commander";
import { parseDuration } from "../core/duration.ts";
import { vacuumLedger } from "../io/ledger/retention.ts";
import { CannotRun, EXIT, type ExitCode, printJson, runCommand } from "./exit.ts";
import { type LedgerPlace, withLedger, withLedgerFlags } from "./ledger/access.ts";
import { formatCount } from "./ledger/table.ts";

interface Options extends LedgerPlace {
  readonly olderThan: string;
  readonly site?: string;
  readonly json?: boolean;
}

/** `crawlwall ledger vacuum`: removes old events and audits; the chains stay provable, the hourly counts stay. */
export function registerLedgerVacuum(ledger: Command): void {
  withLedgerFlags(
    ledger.command("vacuum").description("remove old events and audits; hourly counts stay"),
  )
    .requiredOption("--older-than <duration>", "the age from which they go: `30d`")
    .option("--site <id>", "events of one site only")
    .option("--json", "print JSON")
    .action((options: Options) => runCommand(() => vacuum(options)));
}

async function vacuum(options: Options): Promise<ExitCode> {
  const age = parseDuration(options.olderThan);
  if (age === undefined) {
    throw new CannotRun([
      `--older-than: \`${options.olderThan}\` is no duration; write \`30d\` or \`12h\``,
    ]);
  }
  const ageOf = (siteId: string | null): number | undefined =>
    options.site === undefined || options.site === siteId ? age : undefined;
  return withLedger(options, "change", async (query) => {
    const auditAge = options.site === undefined ? age : undefined;
    const { events, audits } = await vacuumLedger(query, { ageOf, auditAge, nowMs: Date.now() });
    if (options.json === true) printJson({ removed: events, removed_audits: audits });
    else {
      process.stdout.write(
        `${formatCount(events)} events and ${formatCount(audits)} audits removed\n`,
      );
    }
    return EXIT.fine;
  });
}
