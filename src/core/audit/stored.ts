import type { CrawlDelayRecord } from "./record.ts";

/** A record as a store gives it back: its codes are whatever the version that wrote it knew. */
export type StoredAudit = {
  readonly [Column in keyof CrawlDelayRecord]: CrawlDelayRecord[Column] extends readonly string[]
    ? readonly string[]
    : CrawlDelayRecord[Column] extends string
      ? string
      : CrawlDelayRecord[Column] extends string | null
        ? string | null
        : CrawlDelayRecord[Column];
};

/** How a column of a stored record is kept. */
export type AuditColumnKind = "text" | "integer" | "number" | "boolean" | "time" | "list";

/** The columns of a record, in the order of the contract. */
export const AUDIT_COLUMNS: readonly (readonly [keyof CrawlDelayRecord, AuditColumnKind])[] = [
  ["host", "text"],
  ["rate_limit_required", "boolean"],
  ["robots_status_code", "integer"],
  ["has_robots_file", "boolean"],
  ["effective_user_agent", "text"],
  ["crawl_delay_raw", "text"],
  ["crawl_delay_seconds", "number"],
  ["has_valid_crawl_delay", "boolean"],
  ["crawl_delay_violation", "boolean"],
  ["parser_error_code", "text"],
  ["checked_at", "time"],
  ["scheme", "text"],
  ["audited_agent", "text"],
  ["content_type", "text"],
  ["response_size", "integer"],
  ["response_bytes", "integer"],
  ["body_sha256", "text"],
  ["final_url", "text"],
  ["redirects", "list"],
  ["attempts", "integer"],
  ["error_class", "text"],
  ["error_detail", "text"],
  ["line", "integer"],
  ["warnings", "list"],
];

/** A body under its hash. */
export interface KeptBody {
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

/** What one host's audit leaves to be kept. */
export interface KeptAudit {
  readonly records: readonly CrawlDelayRecord[];
  /** What was served, whatever it was; undefined when nothing was. */
  readonly body: KeptBody | undefined;
}
