import { HASH_VERSION, rowHash } from "./chain.ts";
import { EVENT_COLUMNS, type StoredRow } from "./row.ts";

/** Rows of a chain that were removed by age: all from one sequence number to another. */
export interface Cut {
  readonly from: number;
  readonly to: number;
  /** The hash before the first of them. */
  readonly prev_hash: string;
  /** The hash of the last of them. */
  readonly hash: string;
}

/** What was removed from a chain, and how many of those rows were already wrong. */
export interface CutRows {
  /** In order, as few as can be. */
  readonly cuts: readonly Cut[];
  readonly faults: number;
}

const SEQ = EVENT_COLUMNS.length + 1;
const PREV_HASH = EVENT_COLUMNS.length + 2;
const HASH = EVENT_COLUMNS.length + 3;
const VERSION = EVENT_COLUMNS.length + 4;

/** Whether a row has the hash that its columns give. */
export function isOwnHash(writerId: string, row: StoredRow): boolean {
  const hash = rowHash(writerId, Number(row[SEQ]), String(row[PREV_HASH]), row);
  return row[VERSION] === HASH_VERSION && hash === row[HASH];
}

/** Adds rows that are about to be removed to what was removed before. */
export function cutRows(writerId: string, known: CutRows, rows: readonly StoredRow[]): CutRows {
  const wrong = rows.filter((row) => !isOwnHash(writerId, row)).length;
  const added = rows.map((row) => ({
    from: Number(row[SEQ]),
    to: Number(row[SEQ]),
    prev_hash: String(row[PREV_HASH]),
    hash: String(row[HASH]),
  }));
  const sorted = [...known.cuts, ...added].sort((left, right) => left.from - right.from);
  const cuts: Cut[] = [];
  let faults = known.faults + wrong;
  for (const cut of sorted) {
    const last = cuts.at(-1);
    if (last === undefined || cut.from !== last.to + 1) {
      cuts.push(cut);
      continue;
    }
    if (cut.prev_hash !== last.hash) faults++;
    cuts[cuts.length - 1] = { ...last, to: cut.to, hash: cut.hash };
  }
  return { cuts, faults };
}
