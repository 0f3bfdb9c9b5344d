import pg from "pg";
import type { ColumnKind } from "../../core/ledger/row.ts";
import {
  type Database,
  DataError,
  RefusedError,
  type SqlRow,
  type SqlValue,
  type TableInsert,
  UnavailableError,
} from "./database.ts";

/** How long a connection may take, and a statement of ours: reports of years included. */
const CONNECT_MS = 5000;
const STATEMENT_MS = 120_000;

/**
 * Opens one connection to PostgreSQL. Throws `RefusedError` where the server will not have us, and
 * `UnavailableError` where it does not answer; no message quotes the URL.
 */
export async function openPostgres(url: string): Promise<Database> {
  const link: Link = { url, client: undefined, transaction: undefined };
  // Now, so that a wrong password or database name is told at the start.
  await connected(link);
  return {
    engine: "postgres",
    all: async (sql, parameters = []) => (await run(link, sql, parameters)).rows,
    run: async (sql, parameters = []) => (await run(link, sql, parameters)).rowCount ?? 0,
    execute: async (sql) => {
      await run(link, sql, undefined);
    },
    insert: (into, rows) => insertRows(link, into, rows),
    transaction: (work) => runTransaction(link, "begin", work),
    snapshot: (work) =>
      runTransaction(link, "begin isolation level repeatable read, read only", work),
    close: async () => {
      const { client } = link;
      link.client = undefined;
      await client?.end();
    },
  };
}

/** A connection that is made again when it was lost. */
interface Link {
  readonly url: string;
  client: pg.Client | undefined;
  /** The connection of the transaction that is open; no other may run its statements. */
  transaction: pg.Client | undefined;
}

async function connected(link: Link): Promise<pg.Client> {
  if (link.transaction !== undefined && link.transaction !== link.client) {
    throw new UnavailableError("the connection was lost within a transaction");
  }
  return link.client ?? (await connect(link));
}

async function connect(link: Link): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: link.url,
    application_name: "crawlwall",
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    // A server that vanished without a word is noticed.
    query_timeout: STATEMENT_MS + CONNECT_MS,
    keepAlive: true,
    types: { getTypeParser: parserOf },
  });
  // A lost connection shows itself in the next statement, too.
  client.on("error", () => forget(link, client));
  client.on("end", () => forget(link, client));
  try {
    await client.connect();
  } catch (error) {
    throw translateConnect(error);
  }
  link.client = client;
  return client;
}

function forget(link: Link, client: pg.Client): void {
  if (link.client === client) link.client = undefined;
}

/** Integers as numbers, JSON as the text that was hashed; everything else as the library does. */
function parserOf(id: number, format?: "text" | "binary"): (value: string) => unknown {
  switch (id) {
    case pg.types.builtins.INT8:
    case pg.types.builtins.NUMERIC:
      return Number;
    case pg.types.builtins.JSON:
      return String;
    default:
      return pg.types.getTypeParser(id, format);
  }
}

async function run(
  link: Link,
  sql: string,
  parameters: readonly unknown[] | undefined,
): Promise<pg.QueryResult<SqlRow>> {
  const client = await connected(link);
  try {
    return await (parameters === undefined
      ? client.query<SqlRow>(sql)
      : client.query<SqlRow>(sql, [...parameters]));
  } catch (error) {
    const translated = translate(error);
    if (translated instanceof UnavailableError && !isServerMessage(error)) drop(link, client);
    throw translated;
  }
}

/** Gives up a connection whose state is unknown. */
function drop(link: Link, client: pg.Client): void {
  forget(link, client);
  client.end().catch(() => undefined);
}

const ARRAY_TYPES: Readonly<Record<ColumnKind, string>> = {
  text: "text[]",
  integer: "bigint[]",
  boolean: "boolean[]",
  json: "text[]",
};

/** One statement for any number of rows: an array for each column. */
async function insertRows(
  link: Link,
  into: TableInsert,
  rows: readonly (readonly SqlValue[])[],
): Promise<void> {
  const names = into.columns.map(([name]) => name);
  const arrays = into.columns.map(([, kind], index) => `$${index + 1}::${ARRAY_TYPES[kind]}`);
  const values = into.columns.map(([name, kind]) => (kind === "json" ? `${name}::json` : name));
  const columns = into.columns.map((_, index) => rows.map((row) => row[index] ?? null));
  await run(
    link,
    `insert into ${into.table} (${names.join(", ")})
    select ${values.join(", ")} from unnest(${arrays.join(", ")}) as given (${names.join(", ")})
    ${into.conflict}`,
    columns,
  );
}

async function runTransaction<T>(link: Link, begin: string, work: () => Promise<T>): Promise<T> {
  await run(link, begin, undefined);
  link.transaction = link.client;
  try {
    const result = await work();
    await run(link, "commit", undefined);
    return result;
  } catch (error) {
    if (link.client !== undefined && link.client === link.transaction) {
      await rollBack(link, link.client);
    }
    throw error;
  } finally {
    link.transaction = undefined;
  }
}

async function rollBack(link: Link, client: pg.Client): Promise<void> {
  try {
    await client.query("rollback");
  } catch {
    drop(link, client);
  }
}

function isServerMessage(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError;
}

/** Classes 22 (data exception) and 23 (integrity): the values are to blame. */
function translate(error: unknown): Error {
  if (error instanceof UnavailableError || error instanceof RefusedError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (isServerMessage(error) && /^2[23]/.test(error.code ?? "")) {
    return new DataError(message, { cause: error });
  }
  return new UnavailableError(message, { cause: error });
}

/** Classes 28 (authorisation) and 3D (no such database): asking again will not help. */
function translateConnect(error: unknown): Error {
  if (isServerMessage(error) && /^(?:28|3D)/.test(error.code ?? "")) {
    return new RefusedError(`PostgreSQL refuses: ${error.message}`, { cause: error });
  }
  return translate(error);
}
