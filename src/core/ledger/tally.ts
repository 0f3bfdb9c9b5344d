import { columnIndex, type EventRow } from "./row.ts";

/** How often something happened in an hour, one way each: what reports are added up from. */
export interface Tally {
  /** The hour in UTC, as its start is written: `2026-11-30T17`. */
  readonly hour: string;
  /** Empty where no site spoke for the host; so for all texts that an event can lack. */
  readonly site_id: string;
  readonly bot_id: string;
  readonly bot_class: string;
  readonly verification: string;
  readonly action: string;
  readonly rule_id: string;
  readonly reason: string;
  readonly status: number;
  readonly enforced: boolean;
  readonly would_block: boolean;
  readonly price_amount: string;
  readonly price_currency: string;
  readonly requests: number;
}

/** How often a path was asked for in an hour. */
export interface PathTally {
  readonly hour: string;
  readonly site_id: string;
  readonly path: string;
  readonly requests: number;
  readonly blocked: number;
  readonly would_block: number;
}

/** How often a shadow rule matched, or a rule could not be evaluated, in an hour. */
export interface RuleTally {
  readonly hour: string;
  readonly site_id: string;
  readonly kind: "shadowed" | "fault";
  readonly rule_id: string;
  /** What a shadow rule would have done; empty and 0 for a fault. */
  readonly action: string;
  readonly status: number;
  readonly requests: number;
}

/** A batch of events, counted. */
export interface Tallies {
  readonly tallies: readonly Tally[];
  readonly paths: readonly PathTally[];
  readonly rules: readonly RuleTally[];
}

const AT = {
  ts: columnIndex("ts"),
  site_id: columnIndex("site_id"),
  path: columnIndex("path"),
  bot_id: columnIndex("bot_id"),
  bot_class: columnIndex("bot_class"),
  verification: columnIndex("verification"),
  action: columnIndex("action"),
  rule_id: columnIndex("rule_id"),
  reason: columnIndex("reason"),
  status: columnIndex("status"),
  enforced: columnIndex("enforced"),
  would_block: columnIndex("would_block"),
  shadowed: columnIndex("shadowed"),
  faults: columnIndex("faults"),
  price_amount: columnIndex("price_amount"),
  price_currency: columnIndex("price_currency"),
} as const;

/** The hour of a time in RFC 3339. */
export function hourOf(ts: string): string {
  return ts.slice(0, 13);
}

type Counted<T> = { -readonly [K in keyof T]: T[K] };

interface Counters {
  readonly tallies: Map<string, Counted<Tally>>;
  readonly paths: Map<string, Counted<PathTally>>;
  readonly rules: Map<string, Counted<RuleTally>>;
}

/**
 * Counts a batch of events, each list in the order of its keys: writers that add to the same counts
 * take them in one order, and never wait for each other in a circle.
 */
export function tallyRows(rows: readonly EventRow[]): Tallies {
  const counters: Counters = { tallies: new Map(), paths: new Map(), rules: new Map() };
  for (const row of rows) {
    countDecision(counters, row);
    countPath(counters, row);
    if (row[AT.shadowed] !== "[]") countShadowed(counters, row);
    if (row[AT.faults] !== "[]") countFaults(counters, row);
  }
  return {
    tallies: inOrder(counters.tallies),
    paths: inOrder(counters.paths),
    rules: inOrder(counters.rules),
  };
}

function inOrder<T>(counts: ReadonlyMap<string, T>): readonly T[] {
  return [...counts].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, count]) => count);
}

/** No value holds it: control characters are cleaned away. */
const SEPARATOR = "\u0000";

const DECISION_COLUMNS = [
  AT.site_id,
  AT.bot_id,
  AT.bot_class,
  AT.verification,
  AT.action,
  AT.rule_id,
  AT.reason,
  AT.status,
  AT.enforced,
  AT.would_block,
  AT.price_amount,
  AT.price_currency,
];

function countDecision({ tallies }: Counters, row: EventRow): void {
  const hour = hourOf(text(row[AT.ts]));
  let key = hour;
  for (const index of DECISION_COLUMNS) key += SEPARATOR + String(row[index] ?? "");
  const known = tallies.get(key);
  if (known !== undefined) {
    known.requests++;
    return;
  }
  tallies.set(key, {
    hour,
    site_id: text(row[AT.site_id]),
    bot_id: text(row[AT.bot_id]),
    bot_class: text(row[AT.bot_class]),
    verification: text(row[AT.verification]),
    action: text(row[AT.action]),
    rule_id: text(row[AT.rule_id]),
    reason: text(row[AT.reason]),
    status: Number(row[AT.status]),
    enforced: row[AT.enforced] === true,
    would_block: row[AT.would_block] === true,
    price_amount: text(row[AT.price_amount]),
    price_currency: text(row[AT.price_currency]),
    requests: 1,
  });
}

function countPath({ paths }: Counters, row: EventRow): void {
  const hour = hourOf(text(row[AT.ts]));
  const site_id = text(row[AT.site_id]);
  const path = text(row[AT.path]);
  const key = hour + SEPARATOR + site_id + SEPARATOR + path;
  let count = paths.get(key);
  if (count === undefined) {
    count = { hour, site_id, path, requests: 0, blocked: 0, would_block: 0 };
    paths.set(key, count);
  }
  count.requests++;
  if (Number(row[AT.status]) >= 400) count.blocked++;
  if (row[AT.would_block] === true) count.would_block++;
}

interface NotedRule {
  readonly rule_id: string;
  readonly action?: string;
  readonly status?: number;
}

function countShadowed(counters: Counters, row: EventRow): void {
  const rules: readonly NotedRule[] = JSON.parse(text(row[AT.shadowed]));
  for (const rule of rules) countRule(counters, row, "shadowed", rule);
}

function countFaults(counters: Counters, row: EventRow): void {
  const rules: readonly NotedRule[] = JSON.parse(text(row[AT.faults]));
  for (const { rule_id } of rules) countRule(counters, row, "fault", { rule_id });
}

function countRule(
  { rules }: Counters,
  row: EventRow,
  kind: RuleTally["kind"],
  { rule_id, action = "", status = 0 }: NotedRule,
): void {
  const hour = hourOf(text(row[AT.ts]));
  const site_id = text(row[AT.site_id]);
  const key = [hour, site_id, kind, rule_id, action, status].join(SEPARATOR);
  const known = rules.get(key);
  if (known === undefined) {
    rules.set(key, { hour, site_id, kind, rule_id, action, status, requests: 1 });
  } else {
    known.requests++;
  }
}

function text(value: string | number | boolean | null | undefined): string {
  return typeof value === "string" ? value : "";
}
