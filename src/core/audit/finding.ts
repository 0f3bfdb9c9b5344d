import type { CrawlDelayRecord } from "./record.ts";

/** A trigger of the audit that a record set off. */
export interface AuditFinding {
  readonly trigger: "crawl_delay_missing" | "robots_unavailable";
  readonly host: string;
  readonly audited_agent: string;
  /** The column that the trigger looks at. */
  readonly field: "crawl_delay_violation" | "robots_status_code";
  readonly severity: "SUGGESTION";
  readonly message: string;
}

const MISSING_MESSAGE =
  "This host is configured as rate-limit sensitive, but robots.txt does not provide a valid crawl-delay directive.";
const UNAVAILABLE_MESSAGE =
  "Rate-limit-sensitive host does not expose a usable robots.txt for crawl-delay policy declaration.";

/**
 * What a record gives rise to: nothing unless its host is explicitly marked. A file that cannot be
 * fetched sets off both triggers, since it declares no delay either.
 */
export function findingsOf(record: CrawlDelayRecord): readonly AuditFinding[] {
  if (!record.rate_limit_required) return [];
  const about = {
    host: record.host,
    audited_agent: record.audited_agent,
    severity: "SUGGESTION",
  } as const;
  const findings: AuditFinding[] = [];
  if (!record.has_valid_crawl_delay) {
    findings.push(finding("crawl_delay_missing", "crawl_delay_violation", about, MISSING_MESSAGE));
  }
  if (!record.has_robots_file || (record.robots_status_code ?? 0) >= 400) {
    findings.push(finding("robots_unavailable", "robots_status_code", about, UNAVAILABLE_MESSAGE));
  }
  return findings;
}

function finding(
  trigger: AuditFinding["trigger"],
  field: AuditFinding["field"],
  about: Pick<AuditFinding, "host" | "audited_agent" | "severity">,
  message: string,
): AuditFinding {
  const { host, audited_agent, severity } = about;
  return { trigger, host, audited_agent, field, severity, message };
}
