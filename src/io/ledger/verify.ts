import { type ChainHead, EMPTY_CHAIN } from "../../core/ledger/chain.ts";
import type { Cut } from "../../core/ledger/cuts.ts";
import {
  type ChainFault,
  type ChainWalk,
  endWalk,
  startWalk,
  walkRow,
} from "../../core/ledger/walk.ts";
import { type Database, textOf } from "./database.ts";
import { SELECTED_COLUMNS, toStoredRow } from "./events.ts";
import { type Checkpoint, type PublicKeys, readCheckpoint, readPublicKeys } from "./signer.ts";
import { readWriters } from "./writers.ts";

export interface VerifyRequest {
  /** Whose checkpoints are believed, as PEM or JWK. */
  readonly publicKeys: readonly string[];
  /** Checkpoints that were kept elsewhere, besides those of the ledger. */
  readonly checkpoints: readonly string[];
}

/** What a ledger's chains prove. */
export interface VerifyResult {
  readonly valid: boolean;
  readonly events: number;
  readonly checkpoints: number;
  /** Rows that are edited, moved or missing. */
  readonly faulty: number;
  /** The first faults of each chain. */
  readonly faults: readonly ChainFault[];
  /** Keys that signed checkpoints and are not known here. */
  readonly unknown_keys: readonly string[];
  /** Where each chain starts and ends, with its newest checkpoint: to be kept elsewhere. */
  readonly chains: readonly ChainState[];
}

export interface ChainState {
  readonly writer_id: string;
  /** Stretches of rows that were removed by age, and said so in a signed checkpoint. */
  readonly removed: number;
  readonly last: number;
  readonly hash: string;
  readonly checkpoint: string | null;
}

/** Rows read at once. */
const PAGE = 2000;

/** Reads every chain from its start and holds it to its hashes, its head and its checkpoints. */
export function verifyLedger(database: Database, request: VerifyRequest): Promise<VerifyResult> {
  return database.snapshot(async () => {
    const keys = readPublicKeys(request.publicKeys);
    const evidence = await gatherEvidence(database, request.checkpoints, keys);
    const writers = new Map((await readWriters(database)).map((head) => [head.writer_id, head]));
    const ids = new Set([
      ...writers.keys(),
      ...evidence.signed.keys(),
      ...(await readChainNames(database)),
    ]);
    const walks: ChainWalk[] = [];
    const chains: ChainState[] = [];
    for (const id of [...ids].sort()) {
      const signed = evidence.signed.get(id) ?? [];
      const walk = await walkChain(database, id, signed, writers.get(id));
      walks.push(walk);
      chains.push({
        writer_id: id,
        removed: cutsOf(signed).length,
        last: walk.last.seq,
        hash: walk.last.hash,
        checkpoint: evidence.newest.get(id) ?? null,
      });
    }
    const faulty = walks.reduce((sum, walk) => sum + walk.faulty, evidence.broken.length);
    return {
      valid: faulty === 0,
      events: walks.reduce((sum, { rows }) => sum + rows, 0),
      checkpoints: evidence.count,
      faulty,
      faults: [...evidence.broken, ...walks.flatMap(({ faults }) => faults)],
      unknown_keys: [...evidence.unknownKeys],
      chains,
    };
  });
}

interface Evidence {
  readonly signed: Map<string, Checkpoint[]>;
  /** The newest checkpoint of each chain, as text. */
  readonly newest: Map<string, string>;
  readonly unknownKeys: Set<string>;
  readonly broken: ChainFault[];
  count: number;
}

async function gatherEvidence(
  database: Database,
  kept: readonly string[],
  keys: PublicKeys,
): Promise<Evidence> {
  const rows = await database.all(
    "select writer_id, jws from checkpoints order by writer_id, seq, at",
  );
  const evidence: Evidence = {
    signed: new Map(),
    newest: new Map(),
    unknownKeys: new Set(),
    broken: [],
    count: 0,
  };
  for (const row of rows) {
    await weigh(evidence, textOf(row, "writer_id"), textOf(row, "jws"), keys);
  }
  for (const jws of kept) await weigh(evidence, undefined, jws, keys);
  return evidence;
}

/** Believes a checkpoint that a known key signed, of the chain that it stands with. */
async function weigh(
  evidence: Evidence,
  writerId: string | undefined,
  jws: string,
  keys: PublicKeys,
): Promise<void> {
  const read = await readCheckpoint(jws, keys);
  evidence.count++;
  switch (read.kind) {
    case "unknown_key":
      evidence.unknownKeys.add(read.keyId);
      return;
    case "broken":
      evidence.broken.push(brokenCheckpoint(writerId ?? "", "is not signed by the key it names"));
      return;
    case "signed":
      break;
  }
  const { checkpoint } = read;
  if (writerId !== undefined && checkpoint.writer_id !== writerId) {
    evidence.broken.push(brokenCheckpoint(writerId, "is that of another chain"));
    return;
  }
  const known = evidence.signed.get(checkpoint.writer_id) ?? [];
  evidence.signed.set(checkpoint.writer_id, [...known, checkpoint]);
  if (writerId !== undefined) evidence.newest.set(writerId, jws);
}

function brokenCheckpoint(writerId: string, what: string): ChainFault {
  return {
    kind: "checkpoint",
    writer_id: writerId,
    seq: 0,
    event_id: null,
    message: `a checkpoint ${what}`,
  };
}

/** Every chain that has rows, found by leaps through the index. */
async function readChainNames(database: Database): Promise<readonly string[]> {
  const rows = await database.all(
    `with recursive chain (id) as (
      select min(writer_id) from events
      union all
      select (select min(writer_id) from events where writer_id > chain.id)
      from chain where chain.id is not null)
    select id from chain where id is not null`,
  );
  return rows.map((row) => textOf(row, "id"));
}

/** What was removed by age, by all that was signed. */
function cutsOf(signed: readonly Checkpoint[]): readonly Cut[] {
  const newest = signed.flatMap(({ cuts }) => cuts);
  const distinct = new Map(newest.map((cut) => [`${cut.from} ${cut.to}`, cut]));
  return [...distinct.values()].sort((left, right) => left.from - right.from || left.to - right.to);
}

async function walkChain(
  database: Database,
  writerId: string,
  signed: readonly Checkpoint[],
  head: ChainHead | undefined,
): Promise<ChainWalk> {
  const walk = startWalk(writerId, cutsOf(signed));
  const expected = new Map(signed.map(({ seq, hash }) => [seq, hash]));
  noteCutFaults(walk, signed);
  for (;;) {
    const page = await database.all(
      `select ${SELECTED_COLUMNS} from events where writer_id = $1 and seq > $2 order by seq limit ${PAGE}`,
      [writerId, walk.last.seq],
    );
    for (const row of page) {
      walkRow(walk, toStoredRow(row));
      const hash = expected.get(walk.last.seq);
      if (hash !== undefined && hash !== walk.last.hash) noteRewritten(walk);
    }
    if (page.length < PAGE) break;
  }
  endWalk(walk, lastKnown(head, signed));
  return walk;
}

/** The end of a chain: what the ledger says, unless a checkpoint saw more. */
function lastKnown(head: ChainHead | undefined, signed: readonly Checkpoint[]): ChainHead {
  let last = head ?? EMPTY_CHAIN;
  for (const { seq, hash } of signed) if (seq > last.seq) last = { seq, hash };
  return last;
}

function noteRewritten(walk: ChainWalk): void {
  walk.faulty++;
  walk.faults.push({
    kind: "checkpoint",
    writer_id: walk.writerId,
    seq: walk.last.seq,
    event_id: null,
    message: `row ${walk.last.seq} is not the one that was signed: the chain was rewritten`,
  });
}

function noteCutFaults(walk: ChainWalk, signed: readonly Checkpoint[]): void {
  const count = Math.max(0, ...signed.map(({ cut_faults }) => cut_faults));
  if (count === 0) return;
  walk.faulty += count;
  walk.faults.push({
    kind: "removed",
    writer_id: walk.writerId,
    seq: 0,
    event_id: null,
    message: `of the rows removed by age ${count} were edited or moved before`,
  });
}
