import type { StoredAudit } from "./stored.ts";

/** What decides whether two audits of one host say the same. */
const COMPARED = [
  "rate_limit_required",
  "robots_status_code",
  "has_robots_file",
  "effective_user_agent",
  "crawl_delay_raw",
  "crawl_delay_seconds",
  "parser_error_code",
  "error_detail",
  "body_sha256",
  "final_url",
  "warnings",
] as const satisfies readonly (keyof StoredAudit)[];

/** A time in which audits of one host, for one crawler, said the same. */
export interface AuditPeriod {
  readonly scheme: string;
  readonly host: string;
  readonly audited_agent: string;
  readonly first_checked_at: string;
  readonly last_checked_at: string;
  readonly checks: number;
  /** The columns that differ from the period before; empty for the first one. */
  readonly changed: readonly (keyof StoredAudit)[];
  /** The last record of the period. */
  readonly record: StoredAudit;
}

/** Joins records that say the same into periods, in order of time for each host and crawler. */
export function periodsOf(records: readonly StoredAudit[]): readonly AuditPeriod[] {
  const series = Map.groupBy(
    records,
    ({ scheme, host, audited_agent }) => `${scheme}://${host} ${audited_agent}`,
  );
  return [...series.values()].flatMap((checks) =>
    checks
      .toSorted((left, right) => (left.checked_at < right.checked_at ? -1 : 1))
      .reduce<readonly AuditPeriod[]>(extend, []),
  );
}

function extend(periods: readonly AuditPeriod[], record: StoredAudit): readonly AuditPeriod[] {
  const last = periods.at(-1);
  const changed = last === undefined ? [] : differences(last.record, record);
  if (last !== undefined && changed.length === 0) {
    const longer = { ...last, last_checked_at: record.checked_at, checks: last.checks + 1, record };
    return [...periods.slice(0, -1), longer];
  }
  const { scheme, host, audited_agent, checked_at } = record;
  return [
    ...periods,
    {
      scheme,
      host,
      audited_agent,
      first_checked_at: checked_at,
      last_checked_at: checked_at,
      checks: 1,
      changed,
      record,
    },
  ];
}

function differences(before: StoredAudit, after: StoredAudit): readonly (keyof StoredAudit)[] {
  return COMPARED.filter(
    (column) => JSON.stringify(before[column]) !== JSON.stringify(after[column]),
  );
}
