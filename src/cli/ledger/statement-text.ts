import type { Amount, Amounts, Statement } from "../../core/ledger/statement.ts";
import { formatCount, formatTable, type TableColumn } from "./table.ts";

/** Rows of each table; the whole is in `--json`. */
const MOST_ROWS = 15;

/** A statement as a person reads it in a terminal. */
export function formatStatement(statement: Statement): string {
  const { totals, not_enforced } = statement;
  const site = statement.site_id === null ? "all sites" : `site ${statement.site_id}`;
  const until = statement.until === null ? "now" : toMinute(statement.until);
  const trials = not_enforced.map(
    ({ currency, requests, amount }) =>
      `Not enforced, in no sum: ${formatCount(requests)} requests, ${currency} ${amount}`,
  );
  return [
    `${toMinute(statement.since)} to ${until} UTC, ${site}`,
    ...(totals.length === 0 ? ["", "No metered requests"] : []),
    ...section("Total", totals, () => "all"),
    ...section("Crawler", statement.by_crawler, ({ bot_id }) => bot_id),
    ...section("Operator", statement.by_operator, ({ bot_operator }) => bot_operator ?? "-"),
    ...section("Rule", statement.by_rule, ({ rule_id }) => rule_id),
    ...section("Month", statement.by_month, ({ month }) => month),
    ...section("Path", statement.top_paths, ({ path }) => shorten(path)),
    ...(trials.length === 0 ? [] : ["", ...trials]),
  ].join("\n");
}

function section<Row extends Amounts>(
  title: string,
  rows: readonly Row[],
  name: (row: Row) => string,
): readonly string[] {
  if (rows.length === 0) return [];
  const columns: readonly TableColumn<Row>[] = [
    { title, cell: name },
    { title: "Currency", cell: ({ currency }) => currency },
    ...amountColumns<Row>("Held", ({ held }) => held),
    ...amountColumns<Row>("Settled", ({ settled }) => settled),
    ...amountColumns<Row>("Void", (row) => row.void),
    ...amountColumns<Row>("Unmatched", ({ unmatched }) => unmatched),
  ];
  const more = rows.length - MOST_ROWS;
  return [
    "",
    ...formatTable(columns, rows.slice(0, MOST_ROWS)),
    ...(more > 0 ? [`and ${formatCount(more)} more`] : []),
  ];
}

function amountColumns<Row>(
  title: string,
  amount: (row: Row) => Amount,
): readonly TableColumn<Row>[] {
  return [
    { title, cell: (row) => amount(row).requests },
    { title: "Amount", cell: (row) => amount(row).amount },
  ];
}

function shorten(path: string): string {
  return path.length > 60 ? `${path.slice(0, 59)}…` : path;
}

function toMinute(ts: string): string {
  return ts.slice(0, 16).replace("T", " ");
}
