import type { Hash } from "./keyed-hash.ts";

/** Finds slots by 64-bit hashes: open addressing with linear probes, in typed arrays. */
export interface HashIndex {
  /** The slot of a hash, or -1. */
  find(hash: Hash): number;
  /** Gives a slot to a hash that has none; whatever had the slot before loses it. */
  assign(slot: number, hash: Hash): void;
  /** Takes its hash from a slot that has one. */
  release(slot: number): void;
}

interface Cells {
  readonly highs: Uint32Array;
  readonly lows: Uint32Array;
  readonly isAssigned: Uint8Array;
  /** A slot plus one; 0 where a cell is free. At least half of them are. */
  readonly cells: Int32Array;
  readonly mask: number;
}

/** An index of `capacity` slots; it takes 17 to 25 bytes a slot, resident only as it fills. */
export function createHashIndex(capacity: number): HashIndex {
  const mask = 2 ** Math.ceil(Math.log2(capacity * 2)) - 1;
  const state: Cells = {
    highs: new Uint32Array(capacity),
    lows: new Uint32Array(capacity),
    isAssigned: new Uint8Array(capacity),
    cells: new Int32Array(mask + 1),
    mask,
  };
  return {
    find: (hash) => find(state, hash),
    assign: (slot, hash) => assign(state, slot, hash),
    release: (slot) => release(state, slot),
  };
}

function find({ cells, highs, lows, mask }: Cells, hash: Hash): number {
  for (let cell = hash.low & mask; ; cell = (cell + 1) & mask) {
    const slot = (cells[cell] ?? 0) - 1;
    if (slot < 0 || (lows[slot] === hash.low && highs[slot] === hash.high)) return slot;
  }
}

function assign(state: Cells, slot: number, hash: Hash): void {
  if (state.isAssigned[slot] === 1) release(state, slot);
  let cell = hash.low & state.mask;
  while (state.cells[cell] !== 0) cell = (cell + 1) & state.mask;
  state.cells[cell] = slot + 1;
  state.highs[slot] = hash.high;
  state.lows[slot] = hash.low;
  state.isAssigned[slot] = 1;
}

/** Frees a slot's cell, and moves those behind it up, so that no probe stops short of them. */
function release(state: Cells, slot: number): void {
  const { cells, lows, mask } = state;
  let free = cellOf(state, slot);
  for (let cell = (free + 1) & mask; cells[cell] !== 0; cell = (cell + 1) & mask) {
    const home = (lows[(cells[cell] ?? 0) - 1] ?? 0) & mask;
    if (((cell - home) & mask) >= ((cell - free) & mask)) {
      cells[free] = cells[cell] ?? 0;
      free = cell;
    }
  }
  cells[free] = 0;
  state.isAssigned[slot] = 0;
}

function cellOf({ cells, lows, mask }: Cells, slot: number): number {
  let cell = (lows[slot] ?? 0) & mask;
  while (cells[cell] !== slot + 1) cell = (cell + 1) & mask;
  return cell;
}
