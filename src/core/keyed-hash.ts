/** A 64-bit hash as two unsigned halves. */
export interface Hash {
  high: number;
  low: number;
}

/**
 * Hashes texts one after the other into one value; what was begun is ended before the next begins.
 * ("ab", "c") and ("a", "bc") are two sequences.
 */
export interface KeyedHash {
  begin(): void;
  /** A text of at most 65,535 code units; of a longer one the length counts modulo 65,536. */
  add(text: string): void;
  /** Writes the hash into `into`, so that no object is made for each request. */
  end(into: Hash): void;
}

/**
 * HalfSipHash-1-3 with a 64-bit result, over UTF-16 code units, two to a word, each text closed by its
 * length. Who does not know the key (two 32-bit words) cannot choose texts that collide. Unlike a
 * digest by node:crypto it makes no garbage.
 */
export function createKeyedHash(key: readonly [number, number]): KeyedHash {
  return new HalfSipHash(key);
}

// A class, so that its state is four numbers and not four boxes.
class HalfSipHash implements KeyedHash {
  readonly #key: readonly [number, number];
  #v0 = 0;
  #v1 = 0;
  #v2 = 0;
  #v3 = 0;

  constructor(key: readonly [number, number]) {
    this.#key = key;
  }

  begin(): void {
    const [key0, key1] = this.#key;
    this.#v0 = key0;
    this.#v1 = key1 ^ 0xee;
    this.#v2 = key0 ^ 0x6c796765;
    this.#v3 = key1 ^ 0x74656462;
  }

  add(text: string): void {
    this.#run(text, (text.length >> 1) + 1);
  }

  end(into: Hash): void {
    this.#v2 ^= 0xee;
    this.#run("", 3);
    into.high = (this.#v1 ^ this.#v3) >>> 0;
    this.#v1 ^= 0xdd;
    this.#run("", 3);
    into.low = (this.#v1 ^ this.#v3) >>> 0;
  }

  /** One round for each word of a text; what lies behind its end is zero. */
  #run(text: string, rounds: number): void {
    let v0 = this.#v0;
    let v1 = this.#v1;
    let v2 = this.#v2;
    let v3 = this.#v3;
    const { length } = text;
    for (let round = 0; round < rounds; round++) {
      const message = wordAt(text, round * 2, length);
      v3 ^= message;
      v0 = (v0 + v1) | 0;
      v1 = rotate(v1, 5) ^ v0;
      v2 = (v2 + v3) | 0;
      v3 = rotate(v3, 8) ^ v2;
      v0 = (rotate(v0, 16) + v3) | 0;
      v3 = rotate(v3, 7) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = rotate(v1, 13) ^ v2;
      v2 = rotate(v2, 16);
      v0 ^= message;
    }
    this.#v0 = v0;
    this.#v1 = v1;
    this.#v2 = v2;
    this.#v3 = v3;
  }
}

/** Hashes one text. */
export function hashText(hash: KeyedHash, text: string, into: Hash): void {
  hash.begin();
  hash.add(text);
  hash.end(into);
}

/** Two code units; the last word holds the one that is left, if any, and the length. */
function wordAt(text: string, index: number, length: number): number {
  const left = length - index;
  if (left < 0) return 0;
  if (left >= 2) return text.charCodeAt(index) | (text.charCodeAt(index + 1) << 16);
  return (left === 1 ? text.charCodeAt(index) : 0) | (length << 16);
}

function rotate(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
