import { type ChainHead, EMPTY_CHAIN, rowHash } from "./chain.ts";
import { type Cut, isOwnHash } from "./cuts.ts";
import { EVENT_COLUMNS, type StoredRow } from "./row.ts";

/** Something that is wrong with a chain. */
export interface ChainFault {
  readonly kind: "edited" | "removed" | "reordered" | "checkpoint";
  readonly writer_id: string;
  /** The first row that it is about. */
  readonly seq: number;
  /** Null where no row is left to name. */
  readonly event_id: string | null;
  readonly message: string;
}

/** A chain that is read from its start, row by row. */
export interface ChainWalk {
  readonly writerId: string;
  /** Rows that were removed by age, in order, and how many of them were passed. */
  readonly cuts: readonly Cut[];
  cutsPassed: number;
  /** The last row read or passed. */
  last: ChainHead;
  rows: number;
  faulty: number;
  /** The first faults; `faulty` counts them all. */
  readonly faults: ChainFault[];
  /** Rows whose hash is not theirs: edited, or moved. */
  readonly strangers: StoredRow[];
}

/** Faults that are kept of one chain: a ledger that is all wrong needs no line for each row. */
const MOST_FAULTS = 100;

const PREV_HASH = EVENT_COLUMNS.length + 2;
const SEQ = EVENT_COLUMNS.length + 1;
const HASH = EVENT_COLUMNS.length + 3;

/** Starts before the first row of a chain, of which some were removed by age. */
export function startWalk(writerId: string, cuts: readonly Cut[]): ChainWalk {
  return {
    writerId,
    cuts,
    cutsPassed: 0,
    last: EMPTY_CHAIN,
    rows: 0,
    faulty: 0,
    faults: [],
    strangers: [],
  };
}

/** Reads the next row, in order of sequence numbers, and notes what is wrong with it. */
export function walkRow(walk: ChainWalk, row: StoredRow): void {
  const seq = Number(row[SEQ]);
  const prevHash = String(row[PREV_HASH]);
  const hash = String(row[HASH]);
  walk.rows++;
  passCuts(walk, seq);
  if (seq > walk.last.seq + 1) noteRemoved(walk, walk.last.seq + 1, seq - 1);
  if (!isOwnHash(walk.writerId, row)) {
    walk.faulty++;
    if (walk.strangers.length < MOST_FAULTS) walk.strangers.push(row);
  } else if (seq === walk.last.seq + 1 && prevHash !== walk.last.hash) {
    note(walk, "edited", row, "does not follow the row before it: that one was replaced");
  }
  walk.last = { seq, hash };
}

/**
 * Ends a walk at the last row that the writer is known to have written; later ones, which came
 * meanwhile, are not missed.
 */
export function endWalk(walk: ChainWalk, head: ChainHead): void {
  passCuts(walk, head.seq + 1);
  if (walk.last.seq < head.seq) noteRemoved(walk, walk.last.seq + 1, head.seq);
  else if (walk.last.seq === head.seq && walk.last.hash !== head.hash) {
    walk.faulty++;
    pushFault(walk, {
      kind: "edited",
      writer_id: walk.writerId,
      seq: head.seq,
      event_id: null,
      message: `row ${head.seq}, the last one, is not the one that was written`,
    });
  }
  nameStrangers(walk);
}

/** Goes on behind the rows before `seq` that were removed by age. */
function passCuts(walk: ChainWalk, seq: number): void {
  for (;;) {
    const cut = walk.cuts[walk.cutsPassed];
    if (cut === undefined || cut.from >= seq) return;
    walk.cutsPassed++;
    // Another installation may have signed the same cut, or a part of it.
    if (cut.to > walk.last.seq) passCut(walk, cut);
  }
}

function passCut(walk: ChainWalk, cut: Cut): void {
  const { last } = walk;
  if (cut.from > last.seq + 1) noteRemoved(walk, last.seq + 1, cut.from - 1);
  else if (cut.from === last.seq + 1 && cut.prev_hash !== last.hash) noteReplaced(walk, cut);
  walk.last = { seq: cut.to, hash: cut.hash };
}

function noteReplaced(walk: ChainWalk, cut: Cut): void {
  walk.faulty++;
  pushFault(walk, {
    kind: "edited",
    writer_id: walk.writerId,
    seq: cut.from - 1,
    event_id: null,
    message: `row ${cut.from - 1} is not the one that the vacuumed row ${cut.from} followed`,
  });
}

function noteRemoved(walk: ChainWalk, first: number, last: number): void {
  walk.faulty += last - first + 1;
  pushFault(walk, {
    kind: "removed",
    writer_id: walk.writerId,
    seq: first,
    event_id: null,
    message: first === last ? `row ${first} was removed` : `rows ${first} to ${last} were removed`,
  });
}

function note(walk: ChainWalk, kind: ChainFault["kind"], row: StoredRow, what: string): void {
  walk.faulty++;
  pushFault(walk, faultOf(walk, kind, row, what));
}

function faultOf(
  walk: ChainWalk,
  kind: ChainFault["kind"],
  row: StoredRow,
  what: string,
): ChainFault {
  const seq = Number(row[SEQ]);
  return {
    kind,
    writer_id: walk.writerId,
    seq,
    event_id: String(row[0]),
    message: `row ${seq} ${what}`,
  };
}

function pushFault(walk: ChainWalk, fault: ChainFault): void {
  if (walk.faults.length < MOST_FAULTS) walk.faults.push(fault);
}

/** Tells rows that changed places from rows that were edited: a moved one fits somewhere else. */
function nameStrangers(walk: ChainWalk): void {
  for (const row of walk.strangers) {
    const origin = walk.strangers.find((other) => other !== row && fitsAt(walk, row, other));
    const fault =
      origin === undefined
        ? faultOf(walk, "edited", row, "was edited: its columns do not give its hash")
        : faultOf(walk, "reordered", row, `was moved: it was written as row ${origin[SEQ]}`);
    pushFault(walk, fault);
  }
  walk.strangers.length = 0;
}

/** Whether a row's event belongs at another row's place: moved with its hashes, or without them. */
function fitsAt(walk: ChainWalk, row: StoredRow, other: StoredRow): boolean {
  const seq = Number(other[SEQ]);
  const { writerId } = walk;
  return (
    rowHash(writerId, seq, String(row[PREV_HASH]), row) === row[HASH] ||
    rowHash(writerId, seq, String(other[PREV_HASH]), row) === other[HASH]
  );
}
