import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { DecisionEvent } from "../core/event.ts";

/** Numbers for operators, in the Prometheus text format (contract 9). No label holds what a client chose. */
export interface Metrics {
  /** Counts a decision. */
  record(event: DecisionEvent): void;
  /** Counts a request that was refused before any decision: a fault of the set-up. */
  reject(cause: string): void;
  /** Tells the policies that are in force from now on. */
  reloaded(policies: readonly PolicyInfo[]): void;
  /** Counts a reload that left the last good policies in force. */
  reloadFailed(): void;
  /** Adds a number that is read when somebody asks. */
  gauge(name: string, help: string, read: () => number): void;
  /** Adds numbers by label that are read when somebody asks; no label may be of a client's choice. */
  gauges(
    name: string,
    help: string,
    labelNames: readonly string[],
    read: () => readonly LabelledValue[],
  ): void;
  /** Everything, as `GET /metrics` answers it. */
  text(): Promise<string>;
  readonly contentType: string;
}

/** One number, with the values of its labels in their order. */
export interface LabelledValue {
  readonly labels: readonly string[];
  readonly value: number;
}

export interface PolicyInfo {
  readonly site: string;
  readonly hash: string;
}

/** From a tenth of a millisecond to the longest that a proof may take. */
const SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
];

/** Where no site speaks for the host. */
const NO_SITE = "none";

/** Makes the numbers, all at zero. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const help = "Requests refused before any decision";
  const rejected = createTally(registry, "crawlwall_requests_rejected_total", help, ["cause"]);
  return {
    record: createDecisionCounts(registry),
    reject: (cause) => rejected(cause),
    ...createReloads(registry),
    gauge: (name, about, read) => {
      const gauge: Gauge = new Gauge({
        name,
        help: about,
        registers: [registry],
        collect: () => gauge.set(read()),
      });
    },
    gauges: (name, about, labelNames, read) => {
      const gauge: Gauge = new Gauge({
        name,
        help: about,
        labelNames: [...labelNames],
        registers: [registry],
        collect: () => {
          gauge.reset();
          for (const { labels, value } of read()) gauge.labels(...labels).set(value);
        },
      });
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

function createDecisionCounts(registry: Registry): (event: DecisionEvent) => void {
  const tally = (name: string, help: string, labels: readonly string[]): Tally =>
    createTally(registry, `crawlwall_${name}`, help, labels);
  const decisions = tally("decisions_total", "Decisions", ["site", "action", "enforced"]);
  const rules = tally("rule_matches_total", "Decisions by rule", ["site", "rule"]);
  const faults = tally("rule_faults_total", "Rules that could not be evaluated", ["site", "rule"]);
  const bots = tally("bot_requests_total", "Requests that claim to be a bot", [
    "site",
    "bot",
    "verification",
  ]);
  const seconds = new Histogram({
    name: "crawlwall_decision_seconds",
    help: "Time from a request's headers to its decision",
    buckets: SECONDS,
    registers: [registry],
  });
  return (event) => {
    const site = event.site_id ?? NO_SITE;
    decisions(site, event.action, event.enforced ? "true" : "false");
    rules(site, event.rule_id);
    for (const fault of event.faults) faults(site, fault.rule_id);
    if (event.claimed) bots(site, event.bot_id, event.verification);
    seconds.observe(event.duration_us / 1_000_000);
  };
}

type Tally = (...labels: readonly string[]) => void;

/** Counts by label values, a level of maps for each label. */
interface Branch {
  readonly next: Map<string, Branch>;
  count: number;
}

/**
 * A counter that is counted in maps: the values are few, and looking one up costs nothing against the
 * library's own bookkeeping, which is done when somebody asks.
 */
function createTally(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly string[],
): Tally {
  const root: Branch = { next: new Map(), count: 0 };
  const counter: Counter = new Counter({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect: () => {
      counter.reset();
      publish(counter, root, []);
    },
  });
  return (...labels) => {
    let branch = root;
    for (const label of labels) branch = branch.next.get(label) ?? grow(branch, label);
    branch.count += 1;
  };
}

function grow(branch: Branch, label: string): Branch {
  const next: Branch = { next: new Map(), count: 0 };
  branch.next.set(label, next);
  return next;
}

function publish(counter: Counter, branch: Branch, labels: readonly string[]): void {
  if (branch.count > 0) counter.labels(...labels).inc(branch.count);
  for (const [label, next] of branch.next) publish(counter, next, [...labels, label]);
}

function createReloads(registry: Registry): Pick<Metrics, "reloaded" | "reloadFailed"> {
  const registers = [registry];
  const failures = new Counter({
    name: "crawlwall_policy_reload_failures_total",
    help: "Reloads that left the last good policies in force",
    registers,
  });
  const lastReload = new Gauge({
    name: "crawlwall_policy_last_reload_timestamp_seconds",
    help: "When the policies in force were loaded",
    registers,
  });
  const info = new Gauge({
    name: "crawlwall_policy_info",
    help: "The policies in force, by hash",
    labelNames: ["site", "hash"],
    registers,
  });
  return {
    reloaded: (policies) => {
      lastReload.setToCurrentTime();
      info.reset();
      for (const { site, hash } of policies) info.labels(site, hash).set(1);
    },
    reloadFailed: () => failures.inc(),
  };
}
