import { explain } from "./explain.ts";
import type { CrawlDelayRecord } from "./record.ts";

const HEADINGS = ["HOST", "AGENT", "STATUS", "DELAY", "VERDICT"];

/** Records for a person: a table, and below each row why, what to do, and what else is known. */
export function formatTable(records: readonly CrawlDelayRecord[]): string {
  const rows = records.map(toRow);
  const widths = HEADINGS.map((heading, column) =>
    Math.max(heading.length, ...rows.map(({ cells }) => cells[column]?.length ?? 0)),
  );
  const align = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  return [align(HEADINGS), ...rows.flatMap(({ cells, below }) => [align(cells), ...below])].join(
    "\n",
  );
}

interface Row {
  readonly cells: readonly string[];
  readonly below: readonly string[];
}

function toRow(record: CrawlDelayRecord): Row {
  const { verdict, why, fix, remarks } = explain(record);
  const delay = record.crawl_delay_seconds;
  return {
    cells: [
      record.host,
      record.audited_agent,
      `${record.robots_status_code ?? "-"}`,
      delay === null ? "-" : `${delay} s`,
      verdict,
    ],
    below: [
      `    why   ${why}`,
      ...(fix === undefined ? [] : [`    do    ${fix}`]),
      ...remarks.map((remark) => `    note  ${remark}`),
    ],
  };
}
