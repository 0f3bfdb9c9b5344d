import { createReport, type LedgerReport, type ReportParts } from "../../core/ledger/report.ts";
import { hourOf } from "../../core/ledger/tally.ts";
import { type Database, isTrue, numberOf, type SqlRow, type SqlValue, textOf } from "./database.ts";

/** Which time a report is about. Times are RFC 3339 in UTC with milliseconds. */
export interface ReportRequest {
  /** Inclusive. */
  readonly since: string;
  /** Exclusive; undefined for all that is there. */
  readonly until: string | undefined;
  readonly siteId: string | undefined;
}

/** A time with two ends. */
interface Window {
  readonly since: string;
  readonly until: string;
}

/** Events that are counted one by one where the time cuts an hour; where there are more, it counts whole. */
const MOST_COUNTED = 50_000;

/** Events of an hour that may be cut: whether all of them are there has to be found out first. */
const MOST_IN_HOUR = 500_000;

/** Paths that are looked at, of each part of a report. */
const MOST_PATHS = 1000;

/** Where one part of a report takes its counts from. */
interface Span {
  /** `hours`: sums of whole hours, the last one excluded; `events`: counted one by one. */
  readonly from: "hours" | "events";
  readonly since: string;
  readonly until: string;
}

type Counts = Pick<ReportParts, "tallies" | "paths" | "rules">;

/**
 * What happened in a time. Whole hours come from sums, also those whose events are gone; an hour
 * that the time cuts is counted event by event where it has few enough and has them still.
 */
export async function readReport(
  database: Database,
  request: ReportRequest,
): Promise<LedgerReport> {
  const { since } = request;
  const now = new Date().toISOString();
  // The hour that is running has no other side to be cut off.
  const spans = await planSpans(database, { since, until: request.until ?? nextHour(now) });
  const counts: Counts[] = [];
  for (const span of spans) counts.push(await readSpan(database, span, request.siteId));
  return createReport({
    since: spans[0]?.since ?? since,
    until: request.until === undefined ? now : (spans.at(-1)?.until ?? request.until),
    siteId: request.siteId,
    tallies: counts.flatMap(({ tallies }) => tallies),
    paths: counts.flatMap(({ paths }) => paths),
    rules: counts.flatMap(({ rules }) => rules),
    lost: await readLost(database, { since, until: request.until ?? nextHour(now) }),
  });
}

/** The time in up to three parts: the rest of its first hour, whole hours, the start of its last. */
async function planSpans(database: Database, { since, until }: Window): Promise<readonly Span[]> {
  const first = await canCutAt(database, since, { since, until: earlier(until, nextHour(since)) });
  const startOfLast = startOfHour(until);
  const last = await canCutAt(database, until, {
    since: since > startOfLast ? since : startOfLast,
    until,
  });
  if (startOfHour(since) === startOfHour(until) && (first || last)) {
    return [{ from: "events", since, until }];
  }
  const start = first ? nextHour(since) : startOfHour(since);
  const end = last || startOfHour(until) === until ? startOfHour(until) : nextHour(until);
  const spans: readonly Span[] = [
    { from: "events", since, until: first ? start : since },
    { from: "hours", since: start, until: end },
    { from: "events", since: last ? end : until, until },
  ];
  return spans.filter((span) => span.since < span.until);
}

function earlier(left: string, right: string): string {
  return left < right ? left : right;
}

/**
 * Whether a time within an hour can be kept to: by the hour's events, which must all be there, and of
 * which the part that counts must not have too many.
 */
async function canCutAt(database: Database, ts: string, part: Window): Promise<boolean> {
  const start = startOfHour(ts);
  if (start === ts) return false;
  const [sum] = await database.all(
    "select cast(sum(requests) as bigint) as n from hourly_decisions where hour = $1",
    [hourOf(start)],
  );
  const requests = sum === undefined ? 0 : numberOf(sum, "n");
  if (requests > MOST_IN_HOUR) return false;
  const kept = await countWithin(database, { since: start, until: nextHour(start) });
  return kept === requests && (await countWithin(database, part)) <= MOST_COUNTED;
}

async function countWithin(database: Database, { since, until }: Window): Promise<number> {
  const [row] = await database.all("select count(*) as n from events where ts >= $1 and ts < $2", [
    since,
    until,
  ]);
  return row === undefined ? 0 : numberOf(row, "n");
}

function startOfHour(ts: string): string {
  return `${hourOf(ts)}:00:00.000Z`;
}

/** The start of the hour after the one that a time is in. */
function nextHour(ts: string): string {
  return new Date(Date.parse(startOfHour(ts)) + 3_600_000).toISOString();
}

async function readSpan(
  database: Database,
  span: Span,
  siteId: string | undefined,
): Promise<Counts> {
  return span.from === "hours"
    ? readHours(database, span, siteId)
    : countEvents(database, span, siteId);
}

const DECISION_COLUMNS =
  "site_id, bot_id, bot_class, verification, action, rule_id, reason, status, enforced, would_block, price_amount, price_currency";

async function readHours(
  database: Database,
  { since, until }: Span,
  siteId: string | undefined,
): Promise<Counts> {
  const parameters = withSite([hourOf(since), hourOf(until)], siteId);
  const where = `hour >= $1 and hour < $2${siteId === undefined ? "" : " and site_id = $3"}`;
  const sum = "cast(sum(requests) as bigint) as requests";
  const tallies = await database.all(
    `select ${DECISION_COLUMNS}, ${sum} from hourly_decisions where ${where}
    group by ${DECISION_COLUMNS}`,
    parameters,
  );
  const paths = await database.all(
    `select path, ${sum}, cast(sum(blocked) as bigint) as blocked,
      cast(sum(would_block) as bigint) as would_block
    from hourly_paths where ${where}
    group by path order by sum(requests) desc, path limit ${MOST_PATHS}`,
    parameters,
  );
  const rules = await database.all(
    `select kind, rule_id, action, status, ${sum} from hourly_rules where ${where}
    group by kind, rule_id, action, status`,
    parameters,
  );
  return { tallies: tallies.map(toTally), paths: paths.map(toPath), rules: rules.map(toRule) };
}

async function countEvents(
  database: Database,
  { since, until }: Span,
  siteId: string | undefined,
): Promise<Counts> {
  const parameters = withSite([since, until], siteId);
  const where = `ts >= $1 and ts < $2${siteId === undefined ? "" : " and site_id = $3"}`;
  const columns = DECISION_COLUMNS.split(", ");
  const tallies = await database.all(
    `select ${columns.map((name) => (OPTIONAL.has(name) ? `coalesce(${name}, '') as ${name}` : name)).join(", ")},
      count(*) as requests
    from events where ${where} group by ${columns.map((_, index) => index + 1).join(", ")}`,
    parameters,
  );
  const paths = await database.all(
    `select path, count(*) as requests,
      sum(case when status >= 400 then 1 else 0 end) as blocked,
      sum(case when would_block then 1 else 0 end) as would_block
    from events where ${where} group by path order by count(*) desc, path limit ${MOST_PATHS}`,
    parameters,
  );
  const noted = await database.all(
    `select cast(shadowed as text) as shadowed, cast(faults as text) as faults from events
    where ${where} and (cast(shadowed as text) <> '[]' or cast(faults as text) <> '[]')`,
    parameters,
  );
  return { tallies: tallies.map(toTally), paths: paths.map(toPath), rules: noted.flatMap(toNoted) };
}

const OPTIONAL: ReadonlySet<string> = new Set([
  "site_id",
  "reason",
  "price_amount",
  "price_currency",
]);

function withSite(times: readonly string[], siteId: string | undefined): readonly SqlValue[] {
  return siteId === undefined ? times : [...times, siteId];
}

function toTally(row: SqlRow): Counts["tallies"][number] {
  return {
    site_id: textOf(row, "site_id"),
    bot_id: textOf(row, "bot_id"),
    bot_class: textOf(row, "bot_class"),
    verification: textOf(row, "verification"),
    action: textOf(row, "action"),
    rule_id: textOf(row, "rule_id"),
    reason: textOf(row, "reason"),
    status: numberOf(row, "status"),
    enforced: isTrue(row.enforced),
    would_block: isTrue(row.would_block),
    price_amount: textOf(row, "price_amount"),
    price_currency: textOf(row, "price_currency"),
    requests: numberOf(row, "requests"),
  };
}

function toPath(row: SqlRow): Counts["paths"][number] {
  return {
    path: textOf(row, "path"),
    requests: numberOf(row, "requests"),
    blocked: numberOf(row, "blocked"),
    would_block: numberOf(row, "would_block"),
  };
}

function toRule(row: SqlRow): Counts["rules"][number] {
  return {
    kind: row.kind === "fault" ? "fault" : "shadowed",
    rule_id: textOf(row, "rule_id"),
    action: textOf(row, "action"),
    status: numberOf(row, "status"),
    requests: numberOf(row, "requests"),
  };
}

/** An event's lists, each entry counted once. */
function toNoted(row: SqlRow): Counts["rules"] {
  const shadowed: readonly { rule_id: string; action: string; status: number }[] = JSON.parse(
    textOf(row, "shadowed"),
  );
  const faults: readonly { rule_id: string }[] = JSON.parse(textOf(row, "faults"));
  return [
    ...shadowed.map((rule) => ({ kind: "shadowed" as const, ...rule, requests: 1 })),
    ...faults.map(({ rule_id }) => ({
      kind: "fault" as const,
      rule_id,
      action: "",
      status: 0,
      requests: 1,
    })),
  ];
}

async function readLost(database: Database, { since, until }: Window): Promise<number> {
  const [row] = await database.all(
    "select cast(sum(dropped + rejected) as bigint) as n from gaps where at >= $1 and at < $2",
    [since, until],
  );
  return row === undefined ? 0 : numberOf(row, "n");
}
