import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createTextIndex, NO_RANK } from "../../../src/core/cel/text-index.ts";

/** What the index must say, by trying every entry. */
function tryAll(
  exact: ReadonlyMap<string, number>,
  prefixes: ReadonlyMap<string, number>,
  text: string,
): number {
  const ranks = [...prefixes].filter(([prefix]) => text.startsWith(prefix)).map(([, rank]) => rank);
  return Math.min(exact.get(text) ?? NO_RANK, ...ranks);
}

describe("an index of texts and prefixes", () => {
  test("finds the lowest rank among nested prefixes and equal texts", () => {
    const find = createTextIndex(
      new Map([["/a/b", 1]]),
      new Map([
        ["/", 9],
        ["/a/", 3],
        ["/a/b/c", 2],
        ["/b", 0],
      ]),
    );
    const texts = ["/x", "/a/x", "/a/b", "/a/b/c/d", "/b", "x", ""];
    expect(texts.map(find)).toEqual([9, 3, 1, 2, 0, NO_RANK, NO_RANK]);
  });

  test("says what trying every entry would say", () => {
    const word = fc.string({ unit: fc.constantFrom("/", "a", "b", "ä"), maxLength: 6 });
    const ranked = fc
      .array(fc.tuple(word, fc.nat({ max: 9 })), { maxLength: 12 })
      .map((entries) => new Map(entries));
    fc.assert(
      fc.property(ranked, ranked, fc.array(word), (exact, prefixes, texts) => {
        const find = createTextIndex(exact, prefixes);
        for (const text of texts) expect(find(text)).toBe(tryAll(exact, prefixes, text));
      }),
      { numRuns: 1000 },
    );
  });

  test("takes a set of 100,000 paths", () => {
    const prefixes = new Map(
      Array.from({ length: 100_000 }, (_, index) => [`/area/${index}/`, index] as const),
    );
    const find = createTextIndex(new Map(), prefixes);
    expect(find("/area/99999/page")).toBe(99_999);
    expect(find("/area/100000/page")).toBe(NO_RANK);
  });
});
