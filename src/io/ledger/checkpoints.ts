import { type ChainHead, EMPTY_CHAIN } from "../../core/ledger/chain.ts";
import { startWalk, walkRow } from "../../core/ledger/walk.ts";
import { type Database, type TableInsert, textOf } from "./database.ts";
import { SELECTED_COLUMNS, toStoredRow } from "./events.ts";
import type { Checkpoint, Signer } from "./signer.ts";
import { readWriters, type Writer } from "./writers.ts";

const CHECKPOINTS: TableInsert = {
  table: "checkpoints",
  columns: [
    ["writer_id", "text"],
    ["seq", "integer"],
    ["at", "text"],
    ["jws", "text"],
  ],
  conflict: "on conflict (writer_id, seq, at) do nothing",
};

/** Signs the chains of one installation that grew since they were signed last. */
export async function signGrownChains(
  database: Database,
  signer: Signer,
  instance: string,
  at: string,
): Promise<void> {
  for (const writer of await readWriters(database)) {
    if (!writer.writer_id.startsWith(`${instance}.`)) continue;
    const last = await readLastSigned(database, signer, writer.writer_id);
    if (last !== undefined && last.seq >= writer.seq) continue;
    const { writer_id, seq, hash } = writer;
    // Where the chain starts is known from what was signed, never from what is there.
    const { cut_seq, cut_hash, cut_faults } = last ?? NOTHING_CUT;
    const checkpoint = { writer_id, seq, hash, cut_seq, cut_hash, cut_faults, at };
    await storeCheckpoint(database, signer, checkpoint);
  }
}

type Cut = Pick<Checkpoint, "cut_seq" | "cut_hash" | "cut_faults">;

const NOTHING_CUT: Cut = { cut_seq: EMPTY_CHAIN.seq, cut_hash: EMPTY_CHAIN.hash, cut_faults: 0 };

/** The checkpoint of ours that knows most of a chain; undefined where there is none. */
async function readLastSigned(
  database: Database,
  signer: Signer,
  writerId: string,
): Promise<Checkpoint | undefined> {
  const rows = await database.all(
    "select jws from checkpoints where writer_id = $1 order by seq desc, at desc",
    [writerId],
  );
  for (const row of rows) {
    const checkpoint = await signer.read(textOf(row, "jws"));
    if (checkpoint !== undefined) return checkpoint;
  }
  return undefined;
}

async function storeCheckpoint(
  database: Database,
  signer: Signer,
  checkpoint: Checkpoint,
): Promise<void> {
  const { writer_id, seq, at } = checkpoint;
  await database.insert(CHECKPOINTS, [[writer_id, seq, at, await signer.sign(checkpoint)]]);
}

/** Rows that go in one transaction: few enough that no write waits long. */
const ROWS_A_STEP = 2000;

/** Which events go: those of one chain before a time. */
export interface VacuumRequest {
  readonly writerId: string;
  /** RFC 3339. */
  readonly before: string;
  /** When this vacuum started: it leaves one checkpoint, however many steps it takes. */
  readonly at: string;
}

/**
 * Removes the oldest events of a chain, some thousand at a time, and tells how many: 0 when done. A
 * chain is cut at its start alone: an old event behind a younger one waits for that. The checkpoint
 * that is signed in the same transaction says where the chain starts from now on, and how many rows
 * were already wrong or missing before that.
 */
export async function vacuumChain(
  database: Database,
  signer: Signer,
  { writerId, before, at }: VacuumRequest,
): Promise<number> {
  return database.transaction(async () => {
    const oldest = await database.all(
      `select ${SELECTED_COLUMNS} from events where writer_id = $1 order by seq limit ${ROWS_A_STEP}`,
      [writerId],
    );
    const kept = oldest.findIndex((row) => textOf(row, "ts") >= before);
    const gone = kept === -1 ? oldest : oldest.slice(0, kept);
    const writer = (await readWriters(database)).find(({ writer_id }) => writer_id === writerId);
    if (gone.length === 0 || writer === undefined) return 0;
    const last = (await readLastSigned(database, signer, writerId)) ?? NOTHING_CUT;
    const walk = startWalk(writerId, { seq: last.cut_seq, hash: last.cut_hash });
    for (const row of gone) walkRow(walk, toStoredRow(row));
    await database.run("delete from checkpoints where writer_id = $1 and at = $2", [writerId, at]);
    await storeCheckpoint(database, signer, {
      ...headOf(writer),
      ...cutAt(walk.last, last.cut_faults + walk.faulty),
      at,
    });
    await database.run("delete from events where writer_id = $1 and seq <= $2", [
      writerId,
      walk.last.seq,
    ]);
    return gone.length;
  });
}

function headOf({ writer_id, seq, hash }: Writer): Pick<Checkpoint, "writer_id" | "seq" | "hash"> {
  return { writer_id, seq, hash };
}

function cutAt({ seq, hash }: ChainHead, faults: number): Cut {
  return { cut_seq: seq, cut_hash: hash, cut_faults: faults };
}
