/** Finds every one of many words in a text, in one pass over it (Aho and Corasick, 1975). */
export interface Automaton<Word> {
  /** The column of each byte in `next`; bytes that stand in no word share column 0. */
  readonly columns: Uint8Array;
  /** How many columns a state has in `next`. */
  readonly width: number;
  /** `next[state * width + column]` is the state after a byte. The text starts in state 0. */
  readonly next: Uint16Array | Uint32Array;
  /** By state: the words that end there, longest first. */
  readonly found: readonly (readonly Word[] | undefined)[];
}

interface TrieNode<Word> {
  readonly children: Map<number, number>;
  readonly endings: Word[];
}

/**
 * Builds the automaton of words whose texts are bytes (char codes up to 255), ASCII letters in lower
 * case; it finds them in any ASCII case. No text may be empty.
 */
export function createAutomaton<Word extends { readonly text: string }>(
  words: readonly Word[],
): Automaton<Word> {
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
  return {
    columns,
    width,
    next,
    found: trie.map(({ endings }) => (endings.length > 0 ? endings : undefined)),
  };
}

function columnsOf(words: readonly { readonly text: string }[]): Uint8Array {
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

function plant<Word extends { readonly text: string }>(
  words: readonly Word[],
  columns: Uint8Array,
): readonly TrieNode<Word>[] {
  const trie: TrieNode<Word>[] = [{ children: new Map(), endings: [] }];
  for (const word of words) {
    let state = 0;
    for (let index = 0; index < word.text.length; index++) {
      const column = columns[word.text.charCodeAt(index)] ?? 0;
      let child = trie[state]?.children.get(column);
      if (child === undefined) {
        child = trie.push({ children: new Map(), endings: [] }) - 1;
        trie[state]?.children.set(column, child);
      }
      state = child;
    }
    trie[state]?.endings.push(word);
  }
  return trie;
}
