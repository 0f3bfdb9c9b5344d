import type { ColumnKind } from "../../core/ledger/row.ts";

export type SqlValue = string | number | boolean | null | Uint8Array;

/** A row as a database gives it back: booleans of SQLite are 0 and 1. */
export type SqlRow = Readonly<Record<string, unknown>>;

/** Rows that go into one table in one statement. */
export interface TableInsert {
  readonly table: string;
  readonly columns: readonly (readonly [name: string, kind: ColumnKind])[];
  /** What follows the values: an `on conflict` clause, or nothing. */
  readonly conflict: string;
}

/**
 * One connection to SQLite or PostgreSQL. Statements are written once, for both: parameters are
 * `$1`, `$2`, …, and the SQL is what the two share. Failures are `DataError` where the values are to
 * blame, `UnavailableError` where the database is.
 */
export interface Database {
  readonly engine: "sqlite" | "postgres";
  all(sql: string, parameters?: readonly SqlValue[]): Promise<readonly SqlRow[]>;
  /** Runs one statement and tells how many rows it changed. */
  run(sql: string, parameters?: readonly SqlValue[]): Promise<number>;
  /** Runs statements without parameters, separated by `;`. */
  execute(sql: string): Promise<void>;
  insert(into: TableInsert, rows: readonly (readonly SqlValue[])[]): Promise<void>;
  /** Commits what `work` did, or undoes it when it throws. Not to be nested. */
  transaction<T>(work: () => Promise<T>): Promise<T>;
  /** Reads one state of the database throughout `work`, whatever is written meanwhile. */
  snapshot<T>(work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** The values of a statement cannot be stored: another try would fail alike. */
export class DataError extends Error {}

/** The database cannot be used now: locked, full, gone. Another try may do. */
export class UnavailableError extends Error {}

/** The ledger will not be opened: another program's data, or another version's. */
export class RefusedError extends Error {}

/** The texts of a JSON list that a parameter holds, as a subquery. */
export function listedIn({ engine }: Database, parameter: string): string {
  return engine === "sqlite"
    ? `select value from json_each(${parameter})`
    : `select json_array_elements_text(${parameter}::json)`;
}

/** Text of a column that is never null. */
export function textOf(row: SqlRow, column: string): string {
  const value = row[column];
  if (typeof value !== "string") throw new Error(`ledger column ${column} is not text`);
  return value;
}

/** A number, also where the database hands out 64-bit integers in another type. */
export function numberOf(row: SqlRow, column: string): number {
  return Number(row[column] ?? 0);
}

/** A number that may be absent, as either database hands it out. */
export function numberOrNull(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}

/** Truth as either database tells it. */
export function isTrue(value: unknown): boolean {
  return value === true || value === 1;
}

/** What went wrong, in words. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
