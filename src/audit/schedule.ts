import type { AuditPlan } from "../core/audit/config.ts";
import { explain } from "../core/audit/explain.ts";
import { findingsOf } from "../core/audit/finding.ts";
import { createJudgeThread } from "./judge-thread.ts";
import { type AuditedHost, type AuditPorts, runAudit } from "./run.ts";

/** What a schedule needs, besides what each run needs. */
export interface ScheduleOptions extends Pick<AuditPorts, "fetch" | "nowMs"> {
  readonly everyMs: number;
  /** Whom to audit now: asked before each run, so that a reload counts. */
  readonly plan: () => AuditPlan;
  /** Keeps an outcome; what it rejects with is logged, and the run goes on. */
  readonly keep: (outcome: AuditedHost) => Promise<void>;
  readonly log: AuditLog;
  /** From 0 to 1: spreads the runs of many instances. */
  readonly random: () => number;
}

/** Writes one line of the service log. */
export type AuditLog = (
  level: "info" | "warn" | "error",
  fields: Readonly<Record<string, unknown>>,
  message: string,
) => void;

/** Numbers of a schedule, since the start or of its last whole run. */
export interface AuditCounters {
  readonly runs: number;
  /** Milliseconds since the epoch; 0 before the first run has ended. */
  readonly lastRunMs: number;
  readonly hosts: number;
  readonly fetchFailures: number;
  readonly violations: number;
  readonly findings: number;
  /** Outcomes that could not be kept, since the start. */
  readonly keepFailures: number;
}

export interface AuditSchedule {
  counters(): AuditCounters;
  /** Ends the schedule, and gives up the hosts that are being asked. Never rejects. */
  close(): Promise<void>;
}

/** The first run waits for a proxy that starts together with us, at most so long. */
const LONGEST_START_MS = 60_000;

/**
 * Audits again and again: soon after the start, then at every interval, a tenth of it earlier or later.
 * Runs never overlap. Findings go to the log, one line for each record that has any.
 */
export function startAuditSchedule(options: ScheduleOptions): AuditSchedule {
  const stopping = new AbortController();
  const state: ScheduleState = { counters: ZERO, timer: undefined, run: Promise.resolve() };
  const next = (waitMs: number): void => {
    state.timer = setTimeout(() => {
      state.run = runOnce(options, state, stopping.signal).then(() => {
        if (!stopping.signal.aborted) next(options.everyMs * (0.9 + options.random() / 5));
      });
    }, waitMs);
    state.timer.unref();
  };
  next(Math.min(options.everyMs / 10, LONGEST_START_MS) * options.random());
  return {
    counters: () => state.counters,
    close: async () => {
      stopping.abort();
      clearTimeout(state.timer);
      await state.run;
    },
  };
}

interface ScheduleState {
  counters: AuditCounters;
  timer: NodeJS.Timeout | undefined;
  run: Promise<void>;
}

const ZERO: AuditCounters = {
  runs: 0,
  lastRunMs: 0,
  hosts: 0,
  fetchFailures: 0,
  violations: 0,
  findings: 0,
  keepFailures: 0,
};

async function runOnce(
  options: ScheduleOptions,
  state: ScheduleState,
  signal: AbortSignal,
): Promise<void> {
  const { targets, skipped } = options.plan();
  const tally = { hosts: 0, fetchFailures: 0, violations: 0, findings: 0 };
  let { keepFailures } = state.counters;
  const take = async (outcome: AuditedHost): Promise<void> => {
    count(tally, outcome);
    logFindings(options.log, outcome);
    try {
      await options.keep(outcome);
    } catch (error) {
      keepFailures++;
      options.log("error", { host: outcome.target.host, err: error }, "audit records not kept");
    }
  };
  const { judge, end } = createJudgeThread();
  const { fetch, nowMs } = options;
  await runAudit(targets, { fetch, judge, nowMs, take }, signal).finally(end);
  if (signal.aborted) return;
  const runs = state.counters.runs + 1;
  state.counters = { runs, lastRunMs: nowMs(), ...tally, keepFailures };
  options.log("info", { ...tally, skipped }, "crawl-delay audit done");
}

type Tally = Record<"hosts" | "fetchFailures" | "violations" | "findings", number>;

function count(tally: Tally, { records }: AuditedHost): void {
  tally.hosts++;
  if (records.some((record) => record.error_class === "fetch")) tally.fetchFailures++;
  tally.violations += records.filter((record) => record.crawl_delay_violation).length;
  tally.findings += records.flatMap(findingsOf).length;
}

function logFindings(log: AuditLog, { records, cause }: AuditedHost): void {
  for (const record of records) {
    const findings = findingsOf(record);
    if (findings.length === 0) continue;
    const { why, fix } = explain(record);
    const { host, audited_agent, parser_error_code, error_detail } = record;
    const triggers = findings.map(({ trigger }) => trigger);
    const fields = { host, audited_agent, triggers, parser_error_code, error_detail, why, fix };
    log("warn", { ...fields, cause }, findings.map(({ message }) => message).join(" "));
  }
}
