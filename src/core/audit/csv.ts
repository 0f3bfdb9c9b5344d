import type { CrawlDelayRecord } from "./record.ts";
import { AUDIT_COLUMNS } from "./stored.ts";

/** Records as CSV (RFC 4180): a line of names, absent values empty, lists as JSON. */
export function formatCsv(records: readonly CrawlDelayRecord[]): string {
  const lines = records.map((record) =>
    AUDIT_COLUMNS.map(([name]) => cell(record[name])).join(","),
  );
  return [AUDIT_COLUMNS.map(([name]) => name).join(","), ...lines]
    .map((line) => `${line}\r\n`)
    .join("");
}

function cell(value: CrawlDelayRecord[keyof CrawlDelayRecord]): string {
  const text =
    typeof value === "object" && value !== null ? JSON.stringify(value) : `${value ?? ""}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
