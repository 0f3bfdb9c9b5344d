/** A block of addresses, as a table needs to know it. */
export interface Block {
  readonly text: string;
  readonly first: { readonly words: readonly number[] };
  /** Leading bits that count. */
  readonly length: number;
}

/** Disjoint blocks of one kind, ordered by first address; `stride` words make an address. */
export interface Table {
  readonly stride: number;
  readonly words: Uint32Array;
  /** The leading bits of each first address as one number, which decides nearly every comparison. */
  readonly keys: Float64Array;
  readonly lengths: Uint8Array;
  readonly texts: readonly string[];
  readonly slices: Slices;
}

/** Equal slices of the keys' range, about one for each key: a look-up searches in one alone. */
interface Slices {
  readonly least: number;
  readonly scale: number;
  /** The index of the first key that is not before a slice; one more than there are slices. */
  readonly starts: Uint32Array;
}

/** Makes the table of blocks of one kind, in any order; of blocks within one another the widest stays. */
export function createTable(blocks: readonly Block[]): Table {
  const sorted = blocks.toSorted(
    (left, right) =>
      compareWords(left.first.words, right.first.words) || left.length - right.length,
  );
  // Blocks are nested or disjoint, so that a block inside another follows it, or its siblings.
  const kept: Block[] = [];
  for (const block of sorted) {
    const last = kept.at(-1);
    if (last === undefined || !holds(last.first.words, last.length, block.first.words)) {
      kept.push(block);
    }
  }
  const keys = Float64Array.from(kept, (block) => keyOf(block.first.words));
  return {
    stride: kept[0]?.first.words.length ?? 1,
    words: Uint32Array.from(kept.flatMap((block) => block.first.words)),
    keys,
    slices: sliceKeys(keys),
    lengths: Uint8Array.from(kept, (block) => block.length),
    texts: kept.map((block) => block.text),
  };
}

function sliceKeys(keys: Float64Array): Slices {
  const count = Math.min(Math.max(keys.length, 1), 0x10000);
  const least = keys[0] ?? 0;
  const scale = count / ((keys.at(-1) ?? 0) - least + 1);
  const slices = { least, scale, starts: new Uint32Array(count + 1) };
  let next = 0;
  for (const [index, key] of keys.entries()) {
    for (const slice = sliceOf(slices, key); next <= slice; next++) slices.starts[next] = index;
  }
  slices.starts.fill(keys.length, next);
  return slices;
}

/** Never less for a greater key, so that no block is in a slice before its own. */
function sliceOf({ least, scale, starts }: Slices, key: number): number {
  return Math.min(Math.max(Math.floor((key - least) * scale), 0), starts.length - 2);
}

/** All of an IPv4 address; the first 52 bits of an IPv6 address, which a number holds exactly. */
function keyOf(words: readonly number[]): number {
  const first = words[0] ?? 0;
  return words.length === 1 ? first : first * 0x100000 + ((words[1] ?? 0) >>> 12);
}

function compareWords(left: readonly number[], right: readonly number[]): number {
  for (const [index, word] of left.entries()) {
    const difference = word - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function holds(first: readonly number[], length: number, words: readonly number[]): boolean {
  return first.every((word, index) => ((word ^ (words[index] ?? 0)) & maskOf(length, index)) === 0);
}

/** The text of the block that holds an address of the table's kind, or undefined. */
export function findBlock(table: Table, words: readonly number[]): string | undefined {
  const index = lastNotAfter(table, words);
  return index >= 0 && isInside(table, index, words) ? table.texts[index] : undefined;
}

function lastNotAfter(table: Table, words: readonly number[]): number {
  const { keys, slices } = table;
  const key = keyOf(words);
  const slice = sliceOf(slices, key);
  let low = slices.starts[slice] ?? 0;
  let high = slices.starts[slice + 1] ?? 0;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const start = keys[middle] ?? 0;
    if (start > key || (start === key && isAfter(table, middle, words))) high = middle;
    else low = middle + 1;
  }
  return low - 1;
}

/** Whether the block at `index` starts after the address. */
function isAfter(table: Table, index: number, words: readonly number[]): boolean {
  const base = index * table.stride;
  for (let offset = 0; offset < table.stride; offset++) {
    const start = table.words[base + offset] ?? 0;
    const word = words[offset] ?? 0;
    if (start !== word) return start > word;
  }
  return false;
}

function isInside(table: Table, index: number, words: readonly number[]): boolean {
  const { stride } = table;
  const base = index * stride;
  let bits = table.lengths[index] ?? 0;
  for (let offset = 0; bits > 0 && offset < stride; offset++) {
    const difference = (table.words[base + offset] ?? 0) ^ (words[offset] ?? 0);
    if ((bits >= 32 ? difference : difference >>> (32 - bits)) !== 0) return false;
    bits -= 32;
  }
  return true;
}

/** The bits of the word at `index` (from 0, 32 bits each) that a prefix of `length` bits covers. */
export function maskOf(length: number, index: number): number {
  const bits = Math.min(Math.max(length - index * 32, 0), 32);
  return bits === 0 ? 0 : (0xffffffff << (32 - bits)) >>> 0;
}
