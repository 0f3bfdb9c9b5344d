import type { DelayWarning } from "../robots/crawl-delay.ts";
import type { DelayFault } from "../robots/delay-value.ts";
import type { FetchFault } from "./fetch.ts";

/** Why there is no valid delay, where that is more than "none is written". */
export type AuditError =
  | { readonly class: "fetch"; readonly code: "FETCH_FAILED"; readonly detail: FetchFault }
  | { readonly class: "fetch"; readonly code: "HTTP_ERROR"; readonly detail: StatusFault }
  | { readonly class: "fetch"; readonly code: "NOT_ROBOTS_TXT"; readonly detail: "html" | "binary" }
  | { readonly class: "parser"; readonly code: "UNPARSEABLE"; readonly detail: "no_directives" }
  | { readonly class: "parser"; readonly code: "TRUNCATED"; readonly detail: "size_limit" }
  | {
      readonly class: "value";
      readonly code: "MALFORMED_DIRECTIVE";
      readonly detail: "misspelled" | "missing_colon";
    }
  | { readonly class: "value"; readonly code: "OUTSIDE_GROUP"; readonly detail: null }
  | { readonly class: "value"; readonly code: "INVALID_VALUE"; readonly detail: DelayFault };

/** What an HTTP status says against a file. */
export type StatusFault =
  | "unavailable"
  | "rate_limited"
  | "unreachable"
  | "redirect_invalid"
  | "unexpected_status";

/** Codes of what is worth a look and changes no verdict. */
export type AuditWarning = DelayWarning | "WRONG_CONTENT_TYPE" | "TRUNCATED" | "REDIRECTED_HOST";

/**
 * One audit of one host for one crawler, by the names of its columns; null is "absent", as in JSON
 * and SQL.
 */
export interface CrawlDelayRecord {
  readonly host: string;
  readonly rate_limit_required: boolean;
  readonly robots_status_code: number | null;
  readonly has_robots_file: boolean;
  readonly effective_user_agent: string | null;
  readonly crawl_delay_raw: string | null;
  readonly crawl_delay_seconds: number | null;
  readonly has_valid_crawl_delay: boolean;
  readonly crawl_delay_violation: boolean;
  readonly parser_error_code: AuditError["code"] | null;
  /** RFC 3339, UTC, milliseconds. */
  readonly checked_at: string;
  readonly scheme: "http" | "https";
  readonly audited_agent: string;
  readonly content_type: string | null;
  /** Bytes, decoded. */
  readonly response_size: number | null;
  /** Bytes on the wire. */
  readonly response_bytes: number | null;
  readonly body_sha256: string | null;
  readonly final_url: string | null;
  readonly redirects: readonly string[];
  readonly attempts: number;
  readonly error_class: AuditError["class"] | null;
  readonly error_detail: AuditError["detail"];
  /** Of the token that decided. */
  readonly line: number | null;
  readonly warnings: readonly AuditWarning[];
}
