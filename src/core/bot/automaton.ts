/** Finds every one of many words in a text, in one pass over it (Aho and Corasick, 1975). */
export interface Automaton {
  /** The column of each byte in `next`; bytes that stand in no word share column 0. */
  readonly columns: Uint8Array;
  /** How many columns a state has in `next`. */
  readonly width: number;
  /** `next[state * width + column]` is the state after a byte. The text starts in state 0. */
  readonly next: Uint16Array | Uint32Array;
  /** By state: the indices of the words that end there, longest first. */
  readonly found: readonly (readonly number[] | undefined)[];
}

interface TrieNode {
  readonly children: Map<number, number>;
  readonly endings: number[];
}

/**
 * Builds the automaton of words made of bytes (char codes up to 255), ASCII letters in lower case; it
 * finds them in any ASCII case. No word may be empty.
 */
export function createAutomaton(words: readonly string[]): Automaton {
  const columns = columnsOf(words);
  const width = Math.max(...columns) + 1;
  const trie = plant(words, columns);
  const size = trie.length * width;
  const next = trie.length <= 0xffff ? new Uint16Array(size) : new Uint32Array(size);
  const suffixes = new Uint32Array(trie.length);
  const queue = [0];
  for (const state of queue) {
    // The longest proper suffix that is in the trie is shorter, so its row is complete by now.
    const suffix = suffixes[state] ?? 0;
    next.copyWithin(state * width, suffix * width, (suffix + 1) * width);
    const node = trie[state];
    if (suffix > 0) node?.endings.push(...(trie[suffix]?.endings ?? []));
    for (const [column, child] of node?.children ?? []) {
      suffixes[child] = next[state * width + column] ?? 0;
      next[state * width + column] = child;
      queue.push(child);
    }
  }
  return { columns, width, next, found: trie.map(({ endings }) => orUndefined(endings)) };
}

function columnsOf(words: readonly string[]): Uint8Array {
  const columns = new Uint8Array(256);
  let used = 0;
  for (const word of words) {
    for (let index = 0; index < word.length; index++) {
      const byte = word.charCodeAt(index);
      if (columns[byte] === 0) columns[byte] = ++used;
    }
  }
  for (let upper = 65; upper <= 90; upper++) columns[upper] = columns[upper + 32] ?? 0;
  return columns;
}

function plant(words: readonly string[], columns: Uint8Array): readonly TrieNode[] {
  const trie: TrieNode[] = [{ children: new Map(), endings: [] }];
  for (const [index, word] of words.entries()) {
    let state = 0;
    for (let at = 0; at < word.length; at++) {
      const column = columns[word.charCodeAt(at)] ?? 0;
      let child = trie[state]?.children.get(column);
      if (child === undefined) {
        child = trie.push({ children: new Map(), endings: [] }) - 1;
        trie[state]?.children.set(column, child);
      }
      state = child;
    }
    trie[state]?.endings.push(index);
  }
  return trie;
}

function orUndefined(endings: readonly number[]): readonly number[] | undefined {
  return endings.length > 0 ? endings : undefined;
}
