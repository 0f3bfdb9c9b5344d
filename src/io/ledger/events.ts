import { type ColumnKind, STORED_COLUMNS, type StoredRow } from "../../core/ledger/row.ts";
import { type Database, isTrue, type SqlRow, type SqlValue } from "./database.ts";

/** Which events, oldest first. Times are RFC 3339. */
export interface EventsRequest {
  /** Inclusive. */
  readonly since: string | undefined;
  /** Exclusive. */
  readonly until: string | undefined;
  readonly siteId: string | undefined;
  /** The last event of the page before, where there was one. */
  readonly after: EventPlace | undefined;
  readonly limit: number;
}

/** Where an event stands in the order of time. */
export interface EventPlace {
  readonly ts: string;
  readonly id: string;
}

/** A page of events; `last` is where the next one starts, undefined at the end. */
export interface EventsPage {
  readonly rows: readonly StoredRow[];
  readonly last: EventPlace | undefined;
}

/** The columns of a stored event, as SQL names them. */
export const SELECTED_COLUMNS: string = STORED_COLUMNS.map(([name]) => name).join(", ");

/** One page of events, in order of time. */
export async function readEvents(database: Database, request: EventsRequest): Promise<EventsPage> {
  const { since, until, siteId, after, limit } = request;
  const conditions: string[] = [];
  const parameters: SqlValue[] = [];
  const where = (condition: string, ...values: readonly string[]): void => {
    const places = values.map((_, index) => `$${parameters.length + index + 1}`);
    parameters.push(...values);
    conditions.push(`${condition} (${places.join(", ")})`);
  };
  if (since !== undefined) where("ts >=", since);
  if (until !== undefined) where("ts <", until);
  if (siteId !== undefined) where("site_id =", siteId);
  if (after !== undefined) where("(ts, id) >", after.ts, after.id);
  const found = await database.all(
    `select ${SELECTED_COLUMNS} from events
    ${conditions.length === 0 ? "" : `where ${conditions.join(" and ")}`}
    order by ts, id limit ${limit}`,
    parameters,
  );
  return { rows: found.map(toStoredRow), last: lastPlace(found, limit) };
}

function lastPlace(rows: readonly SqlRow[], limit: number): EventPlace | undefined {
  const row = rows.length < limit ? undefined : rows.at(-1);
  return row && { ts: String(row.ts), id: String(row.id) };
}

/** One event by its id; undefined where there is none. */
export async function readEvent(database: Database, id: string): Promise<StoredRow | undefined> {
  const [row] = await database.all(`select ${SELECTED_COLUMNS} from events where id = $1`, [id]);
  return row && toStoredRow(row);
}

/** A row of the database as the chain hashed it. */
export function toStoredRow(row: SqlRow): StoredRow {
  return STORED_COLUMNS.map(([name, kind]) => toStoredValue(kind, row[name] ?? null));
}

function toStoredValue(kind: ColumnKind, value: unknown): StoredRow[number] {
  if (value === null) return null;
  switch (kind) {
    case "boolean":
      return isTrue(value);
    case "integer":
      return Number(value);
    case "json":
    case "text":
      return String(value);
  }
}
