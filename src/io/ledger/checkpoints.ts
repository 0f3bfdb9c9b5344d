import type { CutRows } from "../../core/ledger/cuts.ts";
import { type Database, type TableInsert, textOf } from "./database.ts";
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
    // What was removed by age is known from what was signed, never from what is missing.
    await signChain(database, signer, { writer, cut: cutOf(last), at });
  }
}

/** What was removed from a chain, as far as this installation signed it. */
export async function readCut(
  database: Database,
  signer: Signer,
  writerId: string,
): Promise<CutRows> {
  return cutOf(await readLastSigned(database, signer, writerId));
}

function cutOf(last: Checkpoint | undefined): CutRows {
  return { cuts: last?.cuts ?? [], faults: last?.cut_faults ?? 0 };
}

/** The checkpoint of ours that knows most of a chain; undefined where there is none. */
async function readLastSigned(
  database: Database,
  signer: Signer,
  writerId: string,
): Promise<Checkpoint | undefined> {
  const rows = await database.all(
    "select jws from checkpoints where writer_id = $1 and jws like $2 order by seq desc, at desc",
    [writerId, `${signer.prefix}%`],
  );
  for (const row of rows) {
    const checkpoint = await signer.read(textOf(row, "jws"));
    if (checkpoint !== undefined) return checkpoint;
  }
  return undefined;
}

/** A chain at a time, and what was removed from it so far. */
export interface ChainState {
  readonly writer: Writer;
  readonly cut: CutRows;
  readonly at: string;
}

/** Signs a chain as it is, in place of what was signed of it at the same time. */
export async function signChain(
  database: Database,
  signer: Signer,
  { writer, cut, at }: ChainState,
): Promise<void> {
  const { writer_id, seq, hash } = writer;
  const { cuts, faults: cut_faults } = cut;
  const jws = await signer.sign({ writer_id, seq, hash, cuts, cut_faults, at });
  await database.run("delete from checkpoints where writer_id = $1 and at = $2", [writer_id, at]);
  await database.insert(CHECKPOINTS, [[writer_id, seq, at, jws]]);
  const [first] = cuts;
  if (first?.from !== 1) return;
  // Checkpoints of ours that speak of rows long gone, and of nothing else, prove nothing any more.
  await database.run(
    "delete from checkpoints where writer_id = $1 and seq < $2 and at < $3 and jws like $4",
    [writer_id, first.to, at, `${signer.prefix}%`],
  );
}
