import type { CrawlDelayRecord } from "./record.ts";

const COLUMNS = [
  "host",
  "rate_limit_required",
  "robots_status_code",
  "has_robots_file",
  "effective_user_agent",
  "crawl_delay_raw",
  "crawl_delay_seconds",
  "has_valid_crawl_delay",
  "crawl_delay_violation",
  "parser_error_code",
  "checked_at",
  "scheme",
  "audited_agent",
  "content_type",
  "response_size",
  "response_bytes",
  "body_sha256",
  "final_url",
  "redirects",
  "attempts",
  "error_class",
  "error_detail",
  "line",
  "warnings",
] as const satisfies readonly (keyof CrawlDelayRecord)[];

/** Records as CSV (RFC 4180): a line of names, absent values empty, lists as JSON. */
export function formatCsv(records: readonly CrawlDelayRecord[]): string {
  const lines = records.map((record) => COLUMNS.map((column) => cell(record[column])).join(","));
  return [COLUMNS.join(","), ...lines].map((line) => `${line}\r\n`).join("");
}

function cell(value: CrawlDelayRecord[keyof CrawlDelayRecord]): string {
  const text =
    typeof value === "object" && value !== null ? JSON.stringify(value) : `${value ?? ""}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
