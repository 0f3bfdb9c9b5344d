import type { EventRow } from "../../core/ledger/row.ts";
import { hourOf, type Tallies, tallyRows } from "../../core/ledger/tally.ts";
import type { Database, SqlValue, TableInsert } from "./database.ts";

const DECISIONS: TableInsert = {
  table: "hourly_decisions",
  columns: [
    ["hour", "text"],
    ["site_id", "text"],
    ["bot_id", "text"],
    ["bot_class", "text"],
    ["verification", "text"],
    ["action", "text"],
    ["rule_id", "text"],
    ["reason", "text"],
    ["status", "integer"],
    ["enforced", "boolean"],
    ["would_block", "boolean"],
    ["price_amount", "text"],
    ["price_currency", "text"],
    ["requests", "integer"],
  ],
  conflict: `on conflict (hour, site_id, bot_id, bot_class, verification, action, rule_id, reason,
    status, enforced, would_block, price_amount, price_currency)
    do update set requests = hourly_decisions.requests + excluded.requests`,
};

const PATHS: TableInsert = {
  table: "hourly_paths",
  columns: [
    ["hour", "text"],
    ["site_id", "text"],
    ["path", "text"],
    ["requests", "integer"],
    ["blocked", "integer"],
    ["would_block", "integer"],
  ],
  conflict: `on conflict (hour, site_id, path) do update set
    requests = hourly_paths.requests + excluded.requests,
    blocked = hourly_paths.blocked + excluded.blocked,
    would_block = hourly_paths.would_block + excluded.would_block`,
};

const RULES: TableInsert = {
  table: "hourly_rules",
  columns: [
    ["hour", "text"],
    ["site_id", "text"],
    ["kind", "text"],
    ["rule_id", "text"],
    ["action", "text"],
    ["status", "integer"],
    ["requests", "integer"],
  ],
  conflict: `on conflict (hour, site_id, kind, rule_id, action, status)
    do update set requests = hourly_rules.requests + excluded.requests`,
};

/** Paths that are kept of an hour and site in the end. */
const KEPT_PATHS = 1000;

/** How many counts of paths may come in before those beyond the kept ones go. */
const PATHS_BETWEEN_TRIMS = 4000;

/** Adds events to the counts of their hours. */
export type CountEvents = (rows: readonly EventRow[]) => Promise<void>;

/** Counts into a ledger, in the transaction that stores the events. */
export function createHourlyCounts(database: Database): CountEvents {
  /** By hour and site: path counts that came in since the last trim. */
  const untrimmed = new Map<string, number>();
  return async (rows) => {
    const tallies = tallyRows(rows);
    await addTallies(database, tallies);
    await trimPaths(database, tallies, untrimmed);
  };
}

async function addTallies(database: Database, { tallies, paths, rules }: Tallies): Promise<void> {
  await insertCounts(database, DECISIONS, tallies);
  await insertCounts(database, PATHS, paths);
  await insertCounts(database, RULES, rules);
}

async function insertCounts(
  database: Database,
  into: TableInsert,
  counts: readonly object[],
): Promise<void> {
  if (counts.length === 0) return;
  const rows = counts.map((count) => {
    const values: Readonly<Record<string, SqlValue>> = { ...count };
    return into.columns.map(([name]) => values[name] ?? null);
  });
  await database.insert(into, rows);
}

/**
 * Keeps the paths of an hour few, however many a client makes up: those asked for most stay. An
 * hour is trimmed for the last time when a later one begins.
 */
async function trimPaths(
  database: Database,
  { paths }: Tallies,
  untrimmed: Map<string, number>,
): Promise<void> {
  for (const { hour, site_id } of paths) {
    const key = `${hour} ${site_id}`;
    untrimmed.set(key, (untrimmed.get(key) ?? 0) + 1);
  }
  const newest = paths.at(-1)?.hour ?? "";
  for (const [key, count] of untrimmed) {
    const isPast = !key.startsWith(newest);
    if (count < PATHS_BETWEEN_TRIMS && !isPast) continue;
    const [hour = "", siteId = ""] = key.split(" ");
    await trimHour(database, hour, siteId);
    if (isPast) untrimmed.delete(key);
    else untrimmed.set(key, 0);
  }
}

async function trimHour(database: Database, hour: string, siteId: string): Promise<void> {
  await database.run(
    `delete from hourly_paths where hour = $1 and site_id = $2 and path not in (
      select path from hourly_paths where hour = $1 and site_id = $2
      order by requests desc, path limit ${KEPT_PATHS})`,
    [hour, siteId],
  );
}

/** Removes the counts of all hours before one, which is written as its start (RFC 3339). */
export async function dropHours(database: Database, before: string): Promise<void> {
  for (const { table } of [DECISIONS, PATHS, RULES]) {
    await database.run(`delete from ${table} where hour < $1`, [hourOf(before)]);
  }
}
