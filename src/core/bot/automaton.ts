import type { Steps } from "../steps.ts";

/** Finds every one of many words in a text, in one pass over it (Aho and Corasick, 1975). */
export interface Automaton<Word> {
  /** The column of each byte in `next`; bytes that stand in no word share column 0. */
  readonly columns: Uint8Array;
  /** How many columns a state has in `next`. */
  readonly width: number;
  /** `next[state * width + column]` is the state after a byte. The text starts in state 0. */
  readonly next: Table;
  /** By state: the words that end there, longest first. */
  readonly found: readonly (readonly Word[] | undefined)[];
}

type Table = Uint16Array | Uint32Array;

interface Text {
  readonly text: string;
}

/**
 * Builds the automaton of words whose texts are bytes (char codes up to 255), ASCII letters in lower
 * case; it finds them in any ASCII case. No text may be empty. A step is one word or state.
 */
export function* automatonSteps<Word extends Text>(words: readonly Word[]): Steps<Automaton<Word>> {
  const columns = columnsOf(words);
  const width = Math.max(...columns) + 1;
  const most = words.reduce((sum, { text }) => sum + text.length, 1);
  const table = most <= 0xffff ? new Uint16Array(most * width) : new Uint32Array(most * width);
  const found: (readonly Word[] | undefined)[] = [undefined];
  for (const word of words) {
    const state = plant(word.text, { columns, width, table, found });
    found[state] = [...(found[state] ?? []), word];
    yield;
  }
  yield* link(table, width, found);
  return { columns, width, next: table.slice(0, found.length * width), found };
}

function columnsOf(words: readonly Text[]): Uint8Array {
  const columns = new Uint8Array(256);
  let used = 0;
  for (const { text } of words) {
    for (let index = 0; index < text.length; index++) {
      const byte = text.charCodeAt(index);
      if (columns[byte] === 0) columns[byte] = ++used;
    }
  }
  for (let upper = 65; upper <= 90; upper++) columns[upper] = columns[upper + 32] ?? 0;
  return columns;
}

/** Adds a text to the trie in the table, where 0 is "no child", and returns the state at its end. */
function plant(
  text: string,
  trie: {
    readonly columns: Uint8Array;
    readonly width: number;
    readonly table: Table;
    readonly found: unknown[];
  },
): number {
  let state = 0;
  for (let index = 0; index < text.length; index++) {
    const edge = state * trie.width + (trie.columns[text.charCodeAt(index)] ?? 0);
    if (trie.table[edge] === 0) trie.table[edge] = trie.found.push(undefined) - 1;
    state = trie.table[edge] ?? 0;
  }
  return state;
}

/** Makes the trie an automaton: an edge that is missing is that of the longest suffix in the trie. */
function* link<Word>(
  table: Table,
  width: number,
  found: (readonly Word[] | undefined)[],
): Steps<void> {
  const suffixes = new Uint32Array(found.length);
  const queue = [...table.subarray(0, width)].filter((child) => child !== 0);
  for (const state of queue) {
    // A suffix is shorter, so its row is complete by now.
    const suffix = suffixes[state] ?? 0;
    found[state] = joined(found[state], found[suffix]);
    for (let column = 1; column < width; column++) {
      const edge = state * width + column;
      const child = table[edge] ?? 0;
      const fallback = table[suffix * width + column] ?? 0;
      if (child === 0) table[edge] = fallback;
      else {
        suffixes[child] = fallback;
        queue.push(child);
      }
    }
    yield;
  }
}

function joined<Word>(
  longer: readonly Word[] | undefined,
  shorter: readonly Word[] | undefined,
): readonly Word[] | undefined {
  if (longer === undefined || shorter === undefined) return longer ?? shorter;
  return [...longer, ...shorter];
}
