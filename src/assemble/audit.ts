import type { Logger } from "pino";
import { type AuditSchedule, startAuditSchedule } from "../audit/schedule.ts";
import { planPolicies } from "../core/audit/config.ts";
import type { Ledger } from "../io/ledger/ledger.ts";
import type { Metrics } from "../io/metrics.ts";
import { fetchRobots, ROBOTS_FETCH_LIMITS } from "../io/robots-fetch.ts";
import type { Sites } from "./sites.ts";

/** What the scheduled audit works with. */
export interface AuditParts {
  readonly everyMs: number;
  /** Whether hosts may have addresses that are not public. */
  readonly allowPrivate: boolean;
  readonly sites: Sites;
  /** Undefined where nothing is kept. */
  readonly ledger: Ledger | undefined;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** Audits the exact hosts of the policies in force, as `--audit-every` says. */
export function openAudit(parts: AuditParts): AuditSchedule {
  const { everyMs, allowPrivate, sites, ledger, metrics, log } = parts;
  const schedule = startAuditSchedule({
    everyMs,
    plan: () => planPolicies(sites.all(), { scheme: undefined, allowPrivate, agents: undefined }),
    fetch: (target, signal) => fetchRobots(target, ROBOTS_FETCH_LIMITS, signal),
    keep: async (outcome) => {
      await ledger?.keepAudit(outcome);
    },
    nowMs: Date.now,
    random: Math.random,
    log: (level, fields, message) => log[level](fields, message),
  });
  measure(metrics, schedule);
  return schedule;
}

function measure(metrics: Metrics, { counters }: AuditSchedule): void {
  const gauge = (name: string, help: string, read: () => number): void =>
    metrics.gauge(`crawlwall_audit_${name}`, help, read);
  gauge("runs", "Crawl-delay audits that have ended", () => counters().runs);
  gauge(
    "last_run_timestamp_seconds",
    "When the last audit ended",
    () => counters().lastRunMs / 1000,
  );
  gauge("hosts", "Hosts of the last audit", () => counters().hosts);
  gauge(
    "fetch_failures",
    "Hosts of the last audit without a robots.txt",
    () => counters().fetchFailures,
  );
  gauge("violations", "Records of the last audit in violation", () => counters().violations);
  gauge("findings", "Findings of the last audit", () => counters().findings);
  gauge("keep_failures", "Hosts whose records could not be kept", () => counters().keepFailures);
}
