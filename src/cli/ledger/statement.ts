import { once } from "node:events";
import { csvCell } from "../../core/ledger/row.ts";
import { INVOICE_COLUMNS } from "../../core/ledger/statement.ts";
import type { EventPlace } from "../../io/ledger/events.ts";
import type { LedgerQuery } from "../../io/ledger/ledger.ts";
import type { MeteredPage, StatementRequest } from "../../io/ledger/statement.ts";
import { EXIT } from "../exit.ts";

const PAGE = 1000;

/** Prints the metered requests of a time as CSV (RFC 4180), each with the id of its receipt. */
export async function printInvoice(query: LedgerQuery, asked: StatementRequest): Promise<void> {
  // A reader that has enough, such as `head`, is no failure.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    process.exit(error.code === "EPIPE" ? EXIT.fine : EXIT.cannotRun);
  });
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
