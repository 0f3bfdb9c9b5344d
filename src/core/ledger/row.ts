import { canonicalJson } from "../canonical-json.ts";
import type { DecisionEvent } from "../event.ts";

/** How a column is kept: JSON columns hold canonical text. */
export type ColumnKind = "text" | "integer" | "boolean" | "json";

/** The columns of an event, in the order of the contract, which is that of exports. */
export const EVENT_COLUMNS: readonly (readonly [keyof DecisionEvent, ColumnKind])[] = [
  ["id", "text"],
  ["ts", "text"],
  ["request_id", "text"],
  ["site_id", "text"],
  ["host", "text"],
  ["method", "text"],
  ["path", "text"],
  ["raw_path", "text"],
  ["query", "text"],
  ["reading", "text"],
  ["ip", "text"],
  ["user_agent", "text"],
  ["bot_id", "text"],
  ["bot_class", "text"],
  ["bot_operator", "text"],
  ["claimed", "boolean"],
  ["verified", "boolean"],
  ["verification", "text"],
  ["evidence", "json"],
  ["action", "text"],
  ["rule_id", "text"],
  ["reason", "text"],
  ["status", "integer"],
  ["mode", "text"],
  ["enforced", "boolean"],
  ["would_block", "boolean"],
  ["shadowed", "json"],
  ["faults", "json"],
  ["tags", "json"],
  ["price_amount", "text"],
  ["price_currency", "text"],
  ["price_unit", "text"],
  ["receipt_id", "text"],
  ["receipt", "text"],
  ["policy_hash", "text"],
  ["duration_us", "integer"],
];

/** The columns that tie a stored event to the one before it in its writer's chain. */
const LINK_COLUMNS: readonly (readonly [string, ColumnKind])[] = [
  ["writer_id", "text"],
  ["seq", "integer"],
  ["prev_hash", "text"],
  ["hash", "text"],
  ["hash_version", "integer"],
];

/** All columns of a stored event. */
export const STORED_COLUMNS: readonly (readonly [string, ColumnKind])[] = [
  ...EVENT_COLUMNS,
  ...LINK_COLUMNS,
];

/** One event as a ledger keeps it: its columns, in order; JSON columns as text. */
export type EventRow = readonly (string | number | boolean | null)[];

/** An event with its place in a chain: the columns of `EVENT_COLUMNS`, then of `LINK_COLUMNS`. */
export type StoredRow = EventRow;

/** Where a column stands in a row. */
export function columnIndex(name: keyof DecisionEvent): number {
  return EVENT_COLUMNS.findIndex(([column]) => column === name);
}

/** The row of an event; throws where a value is not JSON, which would be a fault of ours. */
export function eventToRow(event: DecisionEvent): EventRow {
  return [
    event.id,
    event.ts,
    event.request_id,
    event.site_id,
    event.host,
    event.method,
    event.path,
    event.raw_path,
    event.query,
    event.reading,
    event.ip,
    event.user_agent,
    event.bot_id,
    event.bot_class,
    event.bot_operator,
    event.claimed,
    event.verified,
    event.verification,
    event.evidence === null ? null : canonicalJson(event.evidence),
    event.action,
    event.rule_id,
    event.reason,
    event.status,
    event.mode,
    event.enforced,
    event.would_block,
    listToJson(event.shadowed),
    listToJson(event.faults),
    listToJson(event.tags),
    event.price_amount,
    event.price_currency,
    event.price_unit,
    event.receipt_id,
    event.receipt,
    event.policy_hash,
    event.duration_us,
  ];
}

/** Nearly every list of an event is empty. */
function listToJson(list: readonly unknown[]): string {
  return list.length === 0 ? "[]" : canonicalJson(list);
}

const JSON_COLUMNS: ReadonlySet<string> = new Set(
  EVENT_COLUMNS.filter(([, kind]) => kind === "json").map(([name]) => name),
);

const SORTED_COLUMNS: readonly (readonly [number, string, boolean])[] = EVENT_COLUMNS.map(
  ([name], index) => [index, `${JSON.stringify(name)}:`, JSON_COLUMNS.has(name)] as const,
).sort((left, right) => (left[1] < right[1] ? -1 : 1));

/** The canonical JSON (RFC 8785) of the event that a row holds. */
export function rowToCanonicalJson(row: EventRow): string {
  const isPlain = JSON_PLACES.every((place) => row[place] === PLAIN_JSON.get(place));
  return isPlain ? plainRowToJson(row) : membersToJson(row);
}

const PLAIN_JSON: ReadonlyMap<number, string | null> = new Map([
  [columnIndex("evidence"), null],
  [columnIndex("faults"), "[]"],
  [columnIndex("shadowed"), "[]"],
  [columnIndex("tags"), "[]"],
]);

const JSON_PLACES: readonly number[] = [...PLAIN_JSON.keys()];

const NONE: readonly never[] = [];

/** Nearly every row: without evidence, its lists empty. The members stand in canonical order. */
function plainRowToJson([
  id,
  ts,
  request_id,
  site_id,
  host,
  method,
  path,
  raw_path,
  query,
  reading,
  ip,
  user_agent,
  bot_id,
  bot_class,
  bot_operator,
  claimed,
  verified,
  verification,
  evidence,
  action,
  rule_id,
  reason,
  status,
  mode,
  enforced,
  would_block,
  ,
  ,
  ,
  price_amount,
  price_currency,
  price_unit,
  receipt_id,
  receipt,
  policy_hash,
  duration_us,
]: EventRow): string {
  // biome-ignore format: one look shows that the names are in order
  return JSON.stringify({
    action, bot_class, bot_id, bot_operator, claimed, duration_us, enforced, evidence, faults: NONE,
    host, id, ip, method, mode, path, policy_hash, price_amount, price_currency, price_unit, query,
    raw_path, reading, reason, receipt, receipt_id, request_id, rule_id, shadowed: NONE, site_id,
    status, tags: NONE, ts, user_agent, verification, verified, would_block,
  });
}

function membersToJson(row: EventRow): string {
  let text = "";
  for (const [index, name, isJson] of SORTED_COLUMNS) {
    const value = row[index] ?? null;
    text += text === "" ? "{" : ",";
    text += name;
    text += isJson && value !== null ? value : JSON.stringify(value);
  }
  return `${text}}`;
}

/** A stored event as one line of JSON, its members in the order of the columns. */
export function storedRowToJson(row: StoredRow): string {
  const members = STORED_COLUMNS.map(([name, kind], index) => {
    const value = row[index] ?? null;
    return `${JSON.stringify(name)}:${kind === "json" && value !== null ? value : JSON.stringify(value)}`;
  });
  return `{${members.join(",")}}`;
}

/** The names of the columns as the first line of CSV (RFC 4180). */
export const CSV_HEADER: string = STORED_COLUMNS.map(([name]) => name).join(",");

/** A stored event as one line of CSV: null is empty, arrays are JSON. */
export function storedRowToCsv(row: StoredRow): string {
  return STORED_COLUMNS.map((_, index) => csvCell(row[index] ?? null)).join(",");
}

/** A value as a cell of CSV: null is empty. */
export function csvCell(value: string | number | boolean | null): string {
  if (value === null) return "";
  if (typeof value !== "string") return String(value);
  // A spreadsheet would run what a client sent as a formula.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
