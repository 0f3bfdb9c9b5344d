import type { CrawlDelayRecord } from "../../core/audit/record.ts";
import { AUDIT_COLUMNS, type KeptAudit, type StoredAudit } from "../../core/audit/stored.ts";
import {
  type Database,
  isTrue,
  numberOrNull,
  type SqlRow,
  type SqlValue,
  textOf,
} from "./database.ts";
import { shrinkFile } from "./vacuum.ts";

/** Which audits are asked for. */
export interface AuditsRequest {
  readonly host: string;
  /** Undefined for all. */
  readonly agent: string | undefined;
  /** The newest so many. */
  readonly limit: number;
}

const NAMES = AUDIT_COLUMNS.map(([name]) => name).join(", ");
const INSERT = `insert into crawl_delay_audits (${NAMES}) values (${AUDIT_COLUMNS.map((_, index) => `$${index + 1}`).join(", ")})`;

/** Keeps the records of one host's audit, and the body they speak of, once for each hash. */
export async function keepAudit(database: Database, { records, body }: KeptAudit): Promise<void> {
  await database.transaction(async () => {
    if (body !== undefined) {
      await database.run(
        "insert into robots_bodies (sha256, body, since) values ($1, $2, $3) on conflict (sha256) do nothing",
        [body.sha256, body.bytes, records[0]?.checked_at ?? ""],
      );
    }
    for (const record of records) await database.run(INSERT, toValues(record));
  });
}

/** A host's audits, oldest first. */
export async function readAudits(
  database: Database,
  { host, agent, limit }: AuditsRequest,
): Promise<readonly StoredAudit[]> {
  const rows = await database.all(
    `select ${NAMES} from crawl_delay_audits where host = $1 and ($2 = '' or audited_agent = $2) order by checked_at desc limit $3`,
    [host, agent ?? "", limit],
  );
  return rows.toReversed().map(toAudit);
}

/** Removes audits from before a time (RFC 3339), and the bodies that no audit speaks of any more. */
export async function dropAudits(database: Database, before: string): Promise<number> {
  const removed = await database.transaction(async () => {
    // A body that is there already, and just now spoken of again by another instance, must stay.
    if (database.engine === "postgres") {
      await database.run("lock table robots_bodies in share row exclusive mode");
    }
    const removed = await database.run("delete from crawl_delay_audits where checked_at < $1", [
      before,
    ]);
    if (removed > 0) await database.run(DELETE_UNUSED);
    return removed;
  });
  if (removed > 0) await shrinkFile(database);
  return removed;
}

const DELETE_UNUSED = `delete from robots_bodies where sha256 not in (
  select body_sha256 from crawl_delay_audits where body_sha256 is not null)`;

function toValues(record: CrawlDelayRecord): readonly SqlValue[] {
  return AUDIT_COLUMNS.map(([name]) => {
    const value = record[name];
    return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
  });
}

function toAudit(row: SqlRow): StoredAudit {
  return {
    host: textOf(row, "host"),
    rate_limit_required: isTrue(row.rate_limit_required),
    robots_status_code: numberOrNull(row.robots_status_code),
    has_robots_file: isTrue(row.has_robots_file),
    effective_user_agent: textOrNull(row.effective_user_agent),
    crawl_delay_raw: textOrNull(row.crawl_delay_raw),
    crawl_delay_seconds: numberOrNull(row.crawl_delay_seconds),
    has_valid_crawl_delay: isTrue(row.has_valid_crawl_delay),
    crawl_delay_violation: isTrue(row.crawl_delay_violation),
    parser_error_code: textOrNull(row.parser_error_code),
    checked_at: timeOf(row.checked_at),
    scheme: textOf(row, "scheme"),
    audited_agent: textOf(row, "audited_agent"),
    content_type: textOrNull(row.content_type),
    response_size: numberOrNull(row.response_size),
    response_bytes: numberOrNull(row.response_bytes),
    body_sha256: textOrNull(row.body_sha256),
    final_url: textOrNull(row.final_url),
    redirects: listOf(row.redirects),
    attempts: numberOrNull(row.attempts) ?? 0,
    error_class: textOrNull(row.error_class),
    error_detail: textOrNull(row.error_detail),
    line: numberOrNull(row.line),
    warnings: listOf(row.warnings),
  };
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** PostgreSQL hands times out as such. */
function timeOf(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value);
}

/** PostgreSQL reads JSON itself. */
function listOf(value: unknown): readonly string[] {
  const list: unknown = typeof value === "string" ? JSON.parse(value) : value;
  return Array.isArray(list) ? list.map(String) : [];
}
