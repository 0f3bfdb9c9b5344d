/** A 64-bit hash as two unsigned halves. */
export interface Hash {
  high: number;
  low: number;
}

/** Hashes a text into `into`, so that no object is made for each request. */
export type KeyedHash = (text: string, into: Hash) => void;

/**
 * HalfSipHash-1-3 with a 64-bit result, over UTF-16 code units, two to a word. Who does not know the
 * key (two 32-bit words) cannot choose texts that collide. Unlike a digest by
 * node:crypto it makes no garbage.
 */
export function createKeyedHash(key: readonly [number, number]): KeyedHash {
  const [key0, key1] = key;
  return (text, into) => {
    let v0 = key0;
    let v1 = key1 ^ 0xee;
    let v2 = key0 ^ 0x6c796765;
    let v3 = key1 ^ 0x74656462;
    const words = (text.length >> 1) + 1;
    for (let round = 0; round < words + 6; round++) {
      const message = wordAt(text, round * 2);
      if (round === words) v2 ^= 0xee;
      if (round === words + 3) {
        into.high = (v1 ^ v3) >>> 0;
        v1 ^= 0xdd;
      }
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
    into.low = (v1 ^ v3) >>> 0;
  };
}

/** Two code units; the last word holds the one that is left, if any, and the length; then zeros. */
function wordAt(text: string, index: number): number {
  const left = text.length - index;
  if (left < 0) return 0;
  if (left >= 2) return text.charCodeAt(index) | (text.charCodeAt(index + 1) << 16);
  return (left === 1 ? text.charCodeAt(index) : 0) | (text.length << 16);
}

function rotate(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
