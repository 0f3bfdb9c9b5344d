import { strings } from "@bufbuild/cel/ext";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { lowerAscii, replaceText, upperAscii } from "../../../src/core/cel/text-functions.ts";

/** A method of the extension as the reference evaluator ships it. */
function original(name: string, text: string, ...args: (string | bigint)[]): unknown {
  const found = strings.find(
    (entry) => entry.name === name && entry.arguments.length === args.length,
  );
  return found?.call(0, text, args);
}

const text = fc.string({
  unit: fc.constantFrom("a", "b", "A", "Z", "ä", "É", "😀", "/"),
  maxLength: 12,
});

describe("functions made linear say what those of the extension say", () => {
  test("lowerAscii and upperAscii", () => {
    fc.assert(
      fc.property(text, (value) => {
        expect(lowerAscii(value)).toBe(original("lowerAscii", value));
        expect(upperAscii(value)).toBe(original("upperAscii", value));
      }),
    );
  });

  test("replace, with an empty part and with every limit", () => {
    const part = fc.string({ unit: fc.constantFrom("a", "b", "A"), maxLength: 2 });
    fc.assert(
      fc.property(text, part, part, fc.bigInt({ min: -2n, max: 20n }), (value, what, by, limit) => {
        expect(replaceText(value, what, by, Number(limit))).toBe(
          original("replace", value, what, by, limit),
        );
        expect(replaceText(value, what, by, value.length)).toBe(
          original("replace", value, what, by),
        );
      }),
      { numRuns: 1000 },
    );
  });
});

test("8 KiB with a replacement at each character take no time worth mentioning", () => {
  const long = "a".repeat(8192);
  const start = performance.now();
  for (let round = 0; round < 100; round++) replaceText(long, "a", "bb", long.length);
  expect(performance.now() - start).toBeLessThan(5000);
});

test("an empty part with a limit of a client's cannot fill the memory", () => {
  expect(() => replaceText("a", "", "x".repeat(100), 1e12)).toThrow(
    "replace makes too long a text",
  );
});
