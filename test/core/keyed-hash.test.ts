import { expect, test } from "vitest";
import { createKeyedHash, type Hash, hashText } from "../../src/core/keyed-hash.ts";

test("tells texts apart, spreads them, and depends on the key", () => {
  const hash = createKeyedHash([7, 9]);
  const other = createKeyedHash([7, 10]);
  const into = { high: 0, low: 0 };
  const seen = new Set<string>();
  const spread = new Uint32Array(64);
  let same = 0;
  for (let n = 0; n < 100_000; n++) {
    hashText(hash, `site\0rule\0request.ip\0${n}`, into);
    seen.add(`${into.high}:${into.low}`);
    spread[into.high & 63] = (spread[into.high & 63] ?? 0) + 1;
    const { high } = into;
    hashText(other, `site\0rule\0request.ip\0${n}`, into);
    if (into.high === high) same++;
  }
  expect(seen.size).toBe(100_000);
  expect(Math.max(...spread) / Math.min(...spread)).toBeLessThan(1.3);
  expect(same).toBeLessThan(5);
});

test("sees every character, the length, and more than the low byte", () => {
  const hash = createKeyedHash([1, 2]);
  const texts = [
    "",
    "\0",
    "\0\0",
    "a",
    "a\0",
    "a\0\0",
    "ab",
    "ba",
    "\u0161",
    "\u6161",
    "a".repeat(65_537),
    "a",
  ];
  const hashes = texts.map((text) => {
    const into = { high: 0, low: 0 };
    hashText(hash, text, into);
    return `${into.high}:${into.low}`;
  });
  expect(new Set(hashes).size).toBe(texts.length - 1);
  expect(hashes.at(-1)).toBe(hashes[3]);
});

test("of several texts it is another than of the same characters cut elsewhere", () => {
  const hash = createKeyedHash([1, 2]);
  const hashOf = (...texts: readonly string[]): string => {
    const into: Hash = { high: 0, low: 0 };
    hash.begin();
    for (const text of texts) hash.add(text);
    hash.end(into);
    return `${into.high}:${into.low}`;
  };
  const sequences = [
    ["abcd"],
    ["ab", "cd"],
    ["a", "bcd"],
    ["abcd", ""],
    ["", "abcd"],
    ["ab", "", "cd"],
  ];
  expect(new Set(sequences.map((texts) => hashOf(...texts))).size).toBe(sequences.length);
  expect(hashOf("ab", "cd")).toBe(hashOf("ab", "cd"));
});
