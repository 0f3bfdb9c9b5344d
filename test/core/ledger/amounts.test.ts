import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sumDecimals } from "../../../src/core/ledger/decimal.ts";

/** Adds decimals as one does on paper, digit by digit: no number of the machine's is involved. */
function addOnPaper(left: string, right: string): string {
  const [leftWhole = "", leftPart = ""] = left.split(".");
  const [rightWhole = "", rightPart = ""] = right.split(".");
  const places = Math.max(leftPart.length, rightPart.length);
  const width = Math.max(leftWhole.length, rightWhole.length);
  const digits = (whole: string, part: string): readonly string[] =>
    [...whole.padStart(width, "0"), ...part.padEnd(places, "0")].reverse();
  const others = digits(rightWhole, rightPart);
  let carry = 0;
  let sum = "";
  for (const [index, digit] of digits(leftWhole, leftPart).entries()) {
    const total = "0123456789".indexOf(digit) + "0123456789".indexOf(others[index] ?? "0") + carry;
    sum = `${total % 10}${sum}`;
    carry = total > 9 ? 1 : 0;
  }
  const all = `${carry}${sum}`;
  const whole = all.slice(0, all.length - places).replace(/^0+(?=\d)/, "");
  return places === 0 ? whole : `${whole}.${all.slice(-places)}`;
}

const digit = fc.constantFrom(..."0123456789");
const amount = fc
  .tuple(
    fc.string({ unit: digit, minLength: 1, maxLength: 20 }),
    fc.string({ unit: digit, maxLength: 20 }),
  )
  .map(([whole, part]) => (part === "" ? whole : `${whole}.${part}`));

describe("the sum of decimals", () => {
  test("of a million requests at 0.002 is exactly 2000.000, together or one by one", () => {
    expect(sumDecimals([["0.002", 1_000_000]])).toBe("2000.000");
    const each = Array.from({ length: 1_000_000 }, () => ["0.002", 1] as const);
    expect(sumDecimals(each)).toBe("2000.000");
  });

  test("is what adding on paper gives, whatever the places and sizes", () => {
    fc.assert(
      fc.property(fc.array(amount, { minLength: 1, maxLength: 20 }), (amounts) => {
        const expected = amounts.reduce(addOnPaper, "0");
        expect(sumDecimals(amounts.map((one) => [one, 1]))).toBe(expected);
      }),
      { numRuns: 1000 },
    );
  });

  test("of one amount many times is that of as many amounts", () => {
    fc.assert(
      fc.property(amount, fc.integer({ min: 1, max: 200 }), (one, times) => {
        const expected = Array.from({ length: times }, () => one).reduce(addOnPaper, "0");
        expect(sumDecimals([[one, times]])).toBe(expected);
      }),
      { numRuns: 200 },
    );
  });

  test.each([
    ["0.30", "0.30"],
    ["1", "1"],
    ["007", "7"],
  ])("keeps the places of %s", (one, sum) => {
    expect(sumDecimals([[one, 1]])).toBe(sum);
  });

  test.each([["-1"], ["1e3"], ["NaN"], [""], [".5"], ["1."]])("counts %j as nothing", (odd) => {
    expect(
      sumDecimals([
        [odd, 1],
        ["0.5", 1],
      ]),
    ).toBe("0.5");
  });
});
