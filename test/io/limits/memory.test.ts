import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Charge } from "../../../src/core/limit.ts";
import { createMemoryLimits } from "../../../src/io/limits/memory.ts";

const START = 1_790_000_000_000;

function charge(bucket: string, rpm = 60, burst = rpm, shadow = false): Charge {
  return {
    ruleId: "r",
    limit: { key: { kind: "field", field: "request.ip" }, rpm, burst },
    bucket,
    shadow,
  };
}

/** How many of so many requests in a row are let through. */
function passed(
  limits: ReturnType<typeof createMemoryLimits>,
  of: number,
  one: Charge,
  at: number,
): number {
  return Array.from({ length: of }, () => limits.spend([one], at)).filter(
    (allowance) => allowance.refused < 0,
  ).length;
}

describe("a bucket", () => {
  test("lets its burst through, refuses the next, and lets it through after Retry-After", () => {
    const limits = createMemoryLimits();
    expect(passed(limits, 10, charge("a", 10), START)).toBe(10);
    expect(limits.spend([charge("a", 10)], START)).toEqual({
      refused: 0,
      retryAfterMs: 6000,
      spent: [true],
    });
    expect(limits.spend([charge("a", 10)], START + 5999).refused).toBe(0);
    expect(limits.spend([charge("a", 10)], START + 6000).refused).toBe(-1);
  });

  test("is not another's: neither by key nor by rule", () => {
    const limits = createMemoryLimits();
    expect(passed(limits, 9, charge("site\0slow\0bot.id\0x", 6), START)).toBe(6);
    expect(passed(limits, 9, charge("site\0fast\0bot.id\0x", 600), START)).toBe(9);
    expect(limits.size).toBe(2);
  });

  test("survives a changed limit, with its tokens clamped", () => {
    const limits = createMemoryLimits();
    limits.spend([charge("a", 100)], START);
    expect(passed(limits, 50, charge("a", 10), START)).toBe(10);
    expect(passed(limits, 50, charge("a", 100), START)).toBe(0);
  });

  test("is neither refilled nor drained by a clock that steps back, and goes on from there", () => {
    const limits = createMemoryLimits();
    expect(passed(limits, 4, charge("a", 10), START)).toBe(4);
    const earlier = START - 86_400_000;
    expect(passed(limits, 20, charge("a", 10), earlier)).toBe(6);
    expect(limits.spend([charge("a", 10)], earlier).retryAfterMs).toBe(6000);
    expect(limits.spend([charge("a", 10)], earlier + 6000).refused).toBe(-1);
  });

  test("of a burst apart from the rate gives the burst at once, then the rate", () => {
    const limits = createMemoryLimits();
    expect(passed(limits, 20, charge("a", 600, 2), START)).toBe(2);
    expect(passed(limits, 20, charge("a", 600, 2), START + 100)).toBe(1);
  });
});

describe("several charges of one decision", () => {
  test("are all spent or none is", () => {
    const limits = createMemoryLimits();
    passed(limits, 2, charge("b", 2), START);
    expect(limits.spend([charge("a", 3), charge("b", 2), charge("c", 3)], START)).toMatchObject({
      refused: 1,
      retryAfterMs: 30_000,
    });
    expect(passed(limits, 9, charge("a", 3), START)).toBe(3);
    expect(passed(limits, 9, charge("c", 3), START)).toBe(3);
  });

  test("that are refused wait for the slowest of the buckets that refuse", () => {
    const limits = createMemoryLimits();
    passed(limits, 60, charge("fast", 60), START);
    passed(limits, 2, charge("slow", 2), START);
    const both = [charge("fast", 60), charge("slow", 2)];
    const { refused, retryAfterMs } = limits.spend(both, START);
    expect({ refused, retryAfterMs }).toEqual({ refused: 0, retryAfterMs: 30_000 });
    expect(limits.spend(both, START + retryAfterMs).refused).toBe(-1);
  });

  test("of shadow rules are spent on their own, and never refuse", () => {
    const limits = createMemoryLimits();
    const shadow = charge("s", 1, 1, true);
    expect(limits.spend([shadow, charge("a", 1)], START)).toEqual({
      refused: -1,
      retryAfterMs: 0,
      spent: [true, true],
    });
    expect(limits.spend([shadow], START)).toEqual({ refused: -1, retryAfterMs: 0, spent: [false] });
    expect(limits.spend([charge("t", 1, 1, true), charge("a", 1)], START).refused).toBe(1);
    expect(limits.spend([charge("t", 1, 1, true)], START).spent).toEqual([false]);
  });

  test("nothing to spend is nothing refused", () => {
    expect(createMemoryLimits().spend([], START)).toEqual({
      refused: -1,
      retryAfterMs: 0,
      spent: [],
    });
  });
});

describe("when all buckets are in use", () => {
  test("one that has refilled makes room, and no other does", () => {
    const limits = createMemoryLimits({ capacity: 3 });
    limits.spend([charge("slow", 1, 10)], START);
    limits.spend([charge("quick", 60)], START);
    passed(limits, 30, charge("flooder", 60), START);
    expect(limits.spend([charge("new", 60)], START + 1000).refused).toBe(-1);
    expect(limits).toMatchObject({ size: 3, overflowed: 0 });
    expect(passed(limits, 60, charge("flooder", 60), START + 1000)).toBe(31);
    expect(passed(limits, 60, charge("slow", 1, 10), START + 1000)).toBe(9);
  });

  test("and none has refilled, new keys share what is left, counted", () => {
    const limits = createMemoryLimits({ capacity: 8 });
    for (let key = 0; key < 8; key++) limits.spend([charge(`k${key}`, 1, 10)], START);
    const through = Array.from({ length: 20_000 }, (_, key) =>
      limits.spend([charge(`new${key}`, 1, 2)], START),
    ).filter((allowance) => allowance.refused < 0).length;
    expect(through).toBe(2 * 1024);
    expect(limits).toMatchObject({ size: 8, overflowed: 20_000 });
  });

  test("a flooder gets no tokens back by making others' buckets, nor by waiting for room", () => {
    const limits = createMemoryLimits({ capacity: 4 });
    for (let key = 0; key < 4; key++) limits.spend([charge(`k${key}`, 60, 60)], START);
    expect(passed(limits, 99, charge("flooder", 1, 10), START)).toBe(10);
    // The four have refilled: the flooder now has a bucket of its own, as empty as it left it.
    expect(passed(limits, 99, charge("flooder", 1, 10), START + 2000)).toBe(0);
    expect(limits.overflowed).toBe(99);
    for (let key = 0; key < 5000; key++) limits.spend([charge(`n${key}`, 60, 60)], START + 2000);
    expect(passed(limits, 99, charge("flooder", 1, 10), START + 2000)).toBe(0);
  });

  test("a full table of 262,144 costs a request microseconds, and memory stays as it is", () => {
    const limits = createMemoryLimits();
    for (let key = 0; key < 262_144; key++) limits.spend([charge(`k${key}`, 1, 10)], START);
    const before = process.memoryUsage().arrayBuffers;
    const start = performance.now();
    for (let key = 0; key < 20_000; key++)
      limits.spend([charge(`n${key}`, 1, 10)], START + 120_000);
    expect((performance.now() - start) / 20_000).toBeLessThan(0.2);
    expect(limits).toMatchObject({ size: 262_144, overflowed: 0 });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1_000_000);
  });
});

test("whatever is asked in whatever order, no bucket gives more than its burst and its rate", () => {
  const step = fc.record({
    keys: fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "e"), { minLength: 1, maxLength: 3 }),
    waitMs: fc.integer({ min: -2000, max: 4000 }),
  });
  const rates = { a: 60, b: 6, c: 600, d: 30, e: 7 };
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 80 }),
      fc.integer({ min: 1, max: 6 }),
      (steps, capacity) => {
        const limits = createMemoryLimits({ capacity, hashKey: [1, 2] });
        const given = new Map<string, number>();
        let now = START;
        let elapsedMs = 0;
        for (const { keys, waitMs } of steps) {
          now += waitMs;
          elapsedMs += Math.max(0, waitMs);
          const charges = keys.map((key) => charge(key, rates[key], 3));
          const allowance = limits.spend(charges, now);
          if (allowance.refused < 0)
            for (const key of keys) given.set(key, (given.get(key) ?? 0) + 1);
          // Alone, and with no one else in the way, the wait that was told is enough.
          if (allowance.refused >= 0) {
            now += allowance.retryAfterMs;
            elapsedMs += allowance.retryAfterMs;
            expect(limits.spend(charges, now).refused).toBe(-1);
            for (const key of keys) given.set(key, (given.get(key) ?? 0) + 1);
          }
        }
        for (const [key, count] of given) {
          const rate = rates[key as keyof typeof rates];
          expect(count).toBeLessThanOrEqual(3 + (elapsedMs * rate) / 60_000 + 0.001);
        }
      },
    ),
    { numRuns: 500 },
  );
});
