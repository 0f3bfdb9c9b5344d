import fc from "fast-check";
import { expect, test } from "vitest";
import { sumDecimals } from "../../../src/core/ledger/decimal.ts";

test.each([
  [[["0.1", 3]], "0.3"],
  [
    [
      ["0.1", 1],
      ["0.2", 1],
    ],
    "0.3",
  ],
  [
    [
      ["0.002", 1500],
      ["1", 2],
    ],
    "5.000",
  ],
  [[["0.30", 1]], "0.30"],
  [[["7", 3]], "21"],
  [[], "0"],
  [
    [
      ["1e3", 1],
      ["-2", 1],
      ["", 1],
    ],
    "0",
  ],
] as const)("amounts are added exactly: %j is %s", (terms, sum) => {
  expect(sumDecimals(terms)).toBe(sum);
});

test("a sum of cents is what whole numbers give", () => {
  const term = fc.tuple(fc.nat({ max: 1_000_000 }), fc.nat({ max: 1000 }));
  fc.assert(
    fc.property(fc.array(term, { minLength: 1 }), (terms) => {
      const cents = terms.reduce((total, [amount, times]) => total + amount * times, 0);
      const decimals = terms.map(([amount, times]) => [(amount / 100).toFixed(2), times] as const);
      expect(Number(sumDecimals(decimals))).toBeCloseTo(cents / 100, 2);
    }),
  );
});
