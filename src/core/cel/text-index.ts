/** What {@link TextIndex} answers when nothing matches. */
export const NO_RANK: number = Number.POSITIVE_INFINITY;

/**
 * Finds the lowest rank among the values that equal a text and the prefixes that start it. A look-up
 * takes the logarithm of the number of prefixes, and makes nothing.
 */
export type TextIndex = (text: string) => number;

/** An index of texts to be equalled and prefixes to be started with, each with its rank. */
export function createTextIndex(
  exact: ReadonlyMap<string, number>,
  prefixes: ReadonlyMap<string, number>,
): TextIndex {
  const table = createPrefixTable(prefixes);
  if (table.keys.length === 0) return (text) => exact.get(text) ?? NO_RANK;
  if (exact.size === 0) return (text) => findPrefix(table, text);
  return (text) => Math.min(exact.get(text) ?? NO_RANK, findPrefix(table, text));
}

/** Prefixes in the order of their code units, each with the next shorter one that starts it. */
interface PrefixTable {
  readonly keys: readonly string[];
  /** The lowest rank of a prefix and of all shorter ones that start it. */
  readonly ranks: readonly number[];
  /** Index of the longest other prefix that starts this one, or -1. */
  readonly shorter: readonly number[];
}

function createPrefixTable(prefixes: ReadonlyMap<string, number>): PrefixTable {
  const keys: string[] = [];
  const ranks: number[] = [];
  const shorter: number[] = [];
  let previous = -1;
  for (const [key, rank] of [...prefixes].sort(byKey)) {
    const parent = longestPrefix(keys, shorter, previous, key);
    // A shorter prefix that ranks as well decides wherever this one would.
    if (parent >= 0 && (ranks[parent] ?? NO_RANK) <= rank) continue;
    previous = keys.length;
    keys.push(key);
    ranks.push(rank);
    shorter.push(parent);
  }
  return { keys, ranks, shorter };
}

/** The longest key that starts a text, looked for from one key to shorter ones; -1 for none. */
function longestPrefix(
  keys: readonly string[],
  shorter: readonly number[],
  from: number,
  text: string,
): number {
  let at = from;
  while (at >= 0 && !text.startsWith(keys[at] ?? "")) at = shorter[at] ?? -1;
  return at;
}

function byKey(left: readonly [string, number], right: readonly [string, number]): number {
  if (left[0] === right[0]) return 0;
  return left[0] < right[0] ? -1 : 1;
}

/**
 * Every prefix of a text sorts before it, and what sorts between a prefix and the text starts with
 * that prefix: so the last key not after the text is the longest prefix, or leads to it.
 */
function findPrefix({ keys, ranks, shorter }: PrefixTable, text: string): number {
  const at = longestPrefix(keys, shorter, lastNotAfter(keys, text), text);
  return at < 0 ? NO_RANK : (ranks[at] ?? NO_RANK);
}

function lastNotAfter(keys: readonly string[], text: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] ?? "") <= text) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
