import type { Command } from "commander";
import { registerLedgerExplain } from "./ledger-explain.ts";
import { registerLedgerExport } from "./ledger-export.ts";
import { registerLedgerReport } from "./ledger-report.ts";
import { registerLedgerSettle } from "./ledger-settle.ts";
import { registerLedgerVacuum } from "./ledger-vacuum.ts";
import { registerLedgerVerify } from "./ledger-verify.ts";

/** `crawlwall ledger …`: what was decided, kept in a chain that shows edits. */
export function registerLedger(program: Command): void {
  const ledger = program.command("ledger").description("read and keep the record of decisions");
  registerLedgerExplain(ledger);
  registerLedgerExport(ledger);
  registerLedgerReport(ledger);
  registerLedgerSettle(ledger);
  registerLedgerVacuum(ledger);
  registerLedgerVerify(ledger);
}
