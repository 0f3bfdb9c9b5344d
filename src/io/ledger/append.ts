import { type ChainHead, EMPTY_CHAIN, linkRow, writerIdOf } from "../../core/ledger/chain.ts";
import { cleanRow } from "../../core/ledger/clean.ts";
import { columnIndex, type EventRow, STORED_COLUMNS } from "../../core/ledger/row.ts";
import {
  type Database,
  DataError,
  listedIn,
  numberOf,
  type TableInsert,
  textOf,
} from "./database.ts";

/** An event that could not be stored, and why. */
export interface RejectedEvent {
  readonly id: string;
  readonly message: string;
}

export interface AppendResult {
  readonly written: number;
  readonly rejected: readonly RejectedEvent[];
}

const EVENTS: TableInsert = {
  table: "events",
  columns: STORED_COLUMNS,
  conflict: "",
};

const NEW_WRITERS: TableInsert = {
  table: "writers",
  columns: [
    ["writer_id", "text"],
    ["site_id", "text"],
    ["seq", "integer"],
    ["hash", "text"],
    ["since", "text"],
  ],
  conflict: "on conflict (writer_id) do nothing",
};

const ID = columnIndex("id");
const SITE_ID = columnIndex("site_id");

/** Something that is written in the same transaction as a batch, such as its hourly counts. */
export type Companion = (rows: readonly EventRow[]) => Promise<void>;

/**
 * Puts events at the end of their writers' chains, in one transaction. Where values are to blame for
 * a failure, the batch is halved until the bad event stands alone: it is rejected, all others are
 * kept. `retried` says that an earlier try may have been committed after all: what is there stays.
 */
export async function appendEvents(
  database: Database,
  instance: string,
  rows: readonly EventRow[],
  retried: boolean,
  companion: Companion,
): Promise<AppendResult> {
  const clean = rows.map(cleanRow);
  const missing = retried ? await withoutStored(database, clean) : clean;
  const rejected = await appendHalving(database, instance, missing, companion);
  return { written: rows.length - rejected.length, rejected };
}

async function appendHalving(
  database: Database,
  instance: string,
  rows: readonly EventRow[],
  companion: Companion,
): Promise<readonly RejectedEvent[]> {
  try {
    await database.transaction(() => appendAll(database, instance, rows, companion));
    return [];
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    if (rows.length <= 1) return rows.map((row) => ({ id: idOf(row), message: error.message }));
    const middle = rows.length >> 1;
    return [
      ...(await appendHalving(database, instance, rows.slice(0, middle), companion)),
      ...(await appendHalving(database, instance, rows.slice(middle), companion)),
    ];
  }
}

async function appendAll(
  database: Database,
  instance: string,
  rows: readonly EventRow[],
  companion: Companion,
): Promise<void> {
  if (rows.length === 0) return;
  const chains = await openChains(database, instance, rows);
  const linked = rows.map((row) => {
    const chain = chains.get(siteOf(row));
    if (chain === undefined) throw new Error("a row's chain was not opened");
    const link = linkRow(chain.writerId, chain.head, row);
    chain.head = link;
    const { writer_id, seq, prev_hash, hash, hash_version } = link;
    return [...row, writer_id, seq, prev_hash, hash, hash_version];
  });
  await database.insert(EVENTS, linked);
  for (const { writerId, head } of chains.values()) {
    await database.run("update writers set seq = $2, hash = $3 where writer_id = $1", [
      writerId,
      head.seq,
      head.hash,
    ]);
  }
  await companion(rows);
}

interface OpenChain {
  readonly writerId: string;
  head: ChainHead;
}

/** The heads of the chains that a batch extends, locked until it is committed. */
async function openChains(
  database: Database,
  instance: string,
  rows: readonly EventRow[],
): Promise<ReadonlyMap<string | null, OpenChain>> {
  const chains = new Map<string | null, OpenChain>();
  const sites = new Set(rows.map(siteOf));
  // In one order everywhere, so that two connections never wait for each other in a circle.
  for (const site of [...sites].sort()) {
    const writerId = writerIdOf(instance, site);
    let head = await lockHead(database, writerId);
    if (head === undefined) {
      const now = new Date().toISOString();
      const { seq, hash } = EMPTY_CHAIN;
      await database.insert(NEW_WRITERS, [[writerId, site, seq, hash, now]]);
      head = await lockHead(database, writerId);
    }
    if (head === undefined) throw new Error(`the writer ${writerId} cannot be made`);
    chains.set(site, { writerId, head });
  }
  return chains;
}

async function lockHead(database: Database, writerId: string): Promise<ChainHead | undefined> {
  const lock = database.engine === "postgres" ? " for update" : "";
  const [row] = await database.all(`select seq, hash from writers where writer_id = $1${lock}`, [
    writerId,
  ]);
  return row && { seq: numberOf(row, "seq"), hash: textOf(row, "hash") };
}

async function withoutStored(
  database: Database,
  rows: readonly EventRow[],
): Promise<readonly EventRow[]> {
  const found = await database.all(
    `select id from events where id in (${listedIn(database, "$1")})`,
    [JSON.stringify(rows.map(idOf))],
  );
  const stored = new Set(found.map((row) => textOf(row, "id")));
  return rows.filter((row) => !stored.has(idOf(row)));
}

function idOf(row: EventRow): string {
  return String(row[ID]);
}

function siteOf(row: EventRow): string | null {
  const site = row[SITE_ID];
  return typeof site === "string" ? site : null;
}
