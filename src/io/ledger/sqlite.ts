import { chmodSync, closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import {
  type Database,
  DataError,
  messageOf,
  RefusedError,
  type SqlValue,
  type TableInsert,
  UnavailableError,
} from "./database.ts";

/** How a ledger file is opened: `read` and `change` never make one. */
export type SqliteMode = "read" | "change" | "create";

/** How long SQLite itself waits for another process's lock; the queue then tries again. */
const BUSY_MS = 1000;

/** Marks the file as a ledger of ours: "CWLG". */
const APPLICATION_ID = 0x43574c47;

/**
 * Opens a ledger file, which only its owner can read and write. A killed process loses nothing that
 * was committed; a power cut may lose the last moments, never the file (WAL, `synchronous=normal`).
 */
export function openSqlite(path: string, mode: SqliteMode): Database {
  prepareFile(path, mode);
  const connection = connect(path, mode);
  try {
    checkOwner(connection, path);
    if (mode === "create") connection.exec(`pragma application_id = ${APPLICATION_ID}`);
  } catch (error) {
    connection.close();
    throw translate(error);
  }
  return databaseOf(connection);
}

function prepareFile(path: string, mode: SqliteMode): void {
  if (mode !== "create") checkExists(path);
  if (mode === "read") return;
  try {
    if (mode === "create") {
      mkdirSync(dirname(path), { recursive: true });
      closeSync(openSync(path, "a", 0o600));
    }
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
  } catch (error) {
    throw new RefusedError(`cannot write the ledger \`${path}\`: ${messageOf(error)}`);
  }
}

function checkExists(path: string): void {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) {
    throw new RefusedError(`no ledger at \`${path}\`; \`crawlwall serve\` makes one`);
  }
}

function connect(path: string, mode: SqliteMode): DatabaseSync {
  try {
    const connection = new DatabaseSync(path, { readOnly: mode === "read", timeout: BUSY_MS });
    connection.exec("pragma cache_size = -16000; pragma temp_store = memory");
    if (mode !== "read") {
      // Before the first table: only then can the file give pages back when events are removed.
      connection.exec("pragma auto_vacuum = incremental");
      connection.exec(
        "pragma journal_mode = wal; pragma synchronous = normal; pragma wal_autocheckpoint = 2000; pragma journal_size_limit = 67108864",
      );
    }
    return connection;
  } catch (error) {
    throw translate(error);
  }
}

/** A wrong path must not turn somebody else's database into a ledger. */
function checkOwner(connection: DatabaseSync, path: string): void {
  const id = connection.prepare("pragma application_id").get()?.application_id;
  if (id === APPLICATION_ID) return;
  const tables = connection.prepare("select count(*) as n from sqlite_schema").get()?.n;
  if (id !== 0 || tables !== 0) {
    throw new RefusedError(`\`${path}\` is a SQLite database, but not a ledger of CrawlWall`);
  }
}

function databaseOf(connection: DatabaseSync): Database {
  const prepare = cachedPrepare(connection);
  return {
    engine: "sqlite",
    all: async (sql, parameters = []) => attempt(() => prepare(sql).all(...parameters.map(bind))),
    run: async (sql, parameters = []) =>
      attempt(() => Number(prepare(sql).run(...parameters.map(bind)).changes)),
    execute: async (sql) => attempt(() => connection.exec(sql)),
    insert: async (into, rows) => attempt(() => insertRows(prepare, into, rows)),
    // Immediate: the lock is taken before the chain's head is read, so no other process moves it.
    transaction: (work) => runTransaction(connection, "begin immediate", work),
    snapshot: (work) => runTransaction(connection, "begin", work),
    close: async () => connection.close(),
  };
}

type Prepare = (sql: string) => StatementSync;

function cachedPrepare(connection: DatabaseSync): Prepare {
  const statements = new Map<string, StatementSync>();
  return (sql) => {
    let statement = statements.get(sql);
    if (statement === undefined) {
      // `?1` is bound by position; `$1` would be a name.
      statement = connection.prepare(sql.replace(/\$(\d+)/g, "?$1"));
      statements.set(sql, statement);
    }
    return statement;
  };
}

function insertRows(
  prepare: Prepare,
  into: TableInsert,
  rows: readonly (readonly SqlValue[])[],
): void {
  const names = into.columns.map(([name]) => name).join(", ");
  // Without numbers: finding each number's place would cost as much as storing a row.
  const places = into.columns.map(() => "?").join(", ");
  const statement = prepare(
    `insert into ${into.table} (${names}) values (${places}) ${into.conflict}`,
  );
  // One list for all rows: making one each would cost as much as storing it.
  const values: ReturnType<typeof bind>[] = new Array(into.columns.length).fill(null);
  for (const row of rows) {
    for (let index = 0; index < values.length; index++) values[index] = bind(row[index] ?? null);
    statement.run(...values);
  }
}

function bind(value: SqlValue): string | number | null | Uint8Array {
  return typeof value === "boolean" ? Number(value) : value;
}

async function runTransaction<T>(
  connection: DatabaseSync,
  begin: string,
  work: () => Promise<T>,
): Promise<T> {
  attempt(() => connection.exec(begin));
  try {
    const result = await work();
    attempt(() => connection.exec("commit"));
    return result;
  } catch (error) {
    if (connection.isTransaction) connection.exec("rollback");
    throw error;
  }
}

function attempt<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw translate(error);
  }
}

/** CONSTRAINT, MISMATCH, TOOBIG and RANGE, and what Node itself refuses to bind. */
const DATA_CODES: ReadonlySet<unknown> = new Set([18, 19, 20, 25]);

function translate(error: unknown): Error {
  if (!(error instanceof Error)) return new UnavailableError(String(error));
  if (error instanceof RefusedError) return error;
  if ("code" in error && error.code === "ERR_INVALID_ARG_TYPE") return asData(error);
  const code = "errcode" in error && typeof error.errcode === "number" ? error.errcode & 0xff : -1;
  if (code === 26) return new RefusedError("the file is not a SQLite database", { cause: error });
  return DATA_CODES.has(code)
    ? asData(error)
    : new UnavailableError(error.message, { cause: error });
}

function asData(error: Error): DataError {
  return new DataError(error.message, { cause: error });
}
