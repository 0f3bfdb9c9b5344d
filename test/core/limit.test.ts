import { expect, test } from "vitest";
import { hasToken, msUntil, refill } from "../../src/core/limit.ts";
import type { Limit } from "../../src/core/policy/policy.ts";

const limit: Limit = { key: { kind: "field", field: "bot.id" }, rpm: 60, burst: 10 };

test("a new bucket is full", () => {
  expect(refill(Number.POSITIVE_INFINITY, 0, limit)).toBe(10);
});

test("a bucket gains rpm/60 tokens a second, up to its burst", () => {
  expect(refill(0, 1000, limit)).toBe(1);
  expect(refill(0, 2500, limit)).toBe(2.5);
  expect(refill(4, 3_600_000, limit)).toBe(10);
});

test("a clock that steps back neither refills nor drains", () => {
  expect(refill(4, -3_600_000, limit)).toBe(4);
});

test("a limit that became smaller clamps the tokens, a greater one gives none", () => {
  expect(refill(10, 0, { ...limit, burst: 3 })).toBe(3);
  expect(refill(3, 0, { ...limit, burst: 30 })).toBe(3);
});

test("a token is there once it is whole", () => {
  expect(hasToken(1)).toBe(true);
  expect(hasToken(0.999)).toBe(false);
  // Ten times a tenth of a token.
  expect(hasToken(Array.from({ length: 10 }).reduce<number>((sum) => sum + 0.1, 0))).toBe(true);
});

test("the wait for tokens is told in whole milliseconds, never too short", () => {
  expect(msUntil(1, 0, limit)).toBe(1000);
  expect(msUntil(1, 0.25, limit)).toBe(750);
  expect(msUntil(1, 0, { ...limit, rpm: 7 })).toBe(8572);
  expect(msUntil(10, 4, limit)).toBe(6000);
  expect(msUntil(1, 5, limit)).toBe(0);
});
