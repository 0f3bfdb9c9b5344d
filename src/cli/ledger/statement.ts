import { once } from "node:events";
import { csvCell } from "../../core/ledger/row.ts";
import { INVOICE_COLUMNS } from "../../core/ledger/statement.ts";
import type { EventPlace } from "../../io/ledger/events.ts";
import type { LedgerQuery } from "../../io/ledger/ledger.ts";
import type { MeteredPage, StatementRequest } from "../../io/ledger/statement.ts";

const PAGE = 1000;

/** Prints the metered requests of a time as CSV (RFC 4180), each with the id of its receipt. */
export async function printInvoice(query: LedgerQuery, asked: StatementRequest): Promise<void> {
  process.stdout.write(`${INVOICE_COLUMNS.join(",")}\r\n`);
  let after: EventPlace | undefined;
  do {
    const page: MeteredPage = await query("metered", { ...asked, after, limit: PAGE });
    const lines = page.lines.map(
      (line) => `${INVOICE_COLUMNS.map((name) => csvCell(line[name])).join(",")}\r\n`,
    );
    if (lines.length > 0 && !process.stdout.write(lines.join(""))) {
      await once(process.stdout, "drain");
    }
    after = page.last;
  } while (after !== undefined);
}
