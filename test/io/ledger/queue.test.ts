import { describe, expect, test, vi } from "vitest";
import type { AppendResult } from "../../../src/io/ledger/append.ts";
import { createQueue, type EventQueue } from "../../../src/io/ledger/queue.ts";
import type { QueueLimits } from "../../../src/io/ledger/queue-options.ts";
import { waitFor } from "../../support/wait.ts";
import { sampleEvent } from "./sample.ts";

const LIMITS: QueueLimits = { maxEvents: 100, maxBytes: 10_000_000, batchEvents: 10, batchMs: 5 };

/** A database that takes batches, or not, as a test says. */
class FakeError extends Error {}

interface World {
  readonly queue: EventQueue;
  readonly stored: string[];
  readonly lines: string[];
  readonly gaps: number[];
  isDown: boolean;
  readonly retried: boolean[];
}

function createWorld(limits: Partial<QueueLimits> = {}): World {
  const stored: string[] = [];
  const lines: string[] = [];
  const gaps: number[] = [];
  const retried: boolean[] = [];
  const append = async (rows: string, isRetried: boolean): Promise<AppendResult> => {
    if (world.isDown) throw new FakeError("no such server");
    const batch: readonly (readonly string[])[] = JSON.parse(rows);
    retried.push(isRetried);
    stored.push(...batch.map(([id = ""]) => id));
    return { written: batch.length, rejected: [] };
  };
  const queue = createQueue(
    {
      append,
      noteGap: async (dropped, rejected) => {
        gaps.push(dropped + rejected);
      },
      log: (level, _, message) => lines.push(`${level} ${message}`),
    },
    { ...LIMITS, ...limits },
  );
  const world: World = { queue, stored, lines, gaps, isDown: false, retried };
  return world;
}

function push(queue: EventQueue, count: number): readonly string[] {
  return Array.from({ length: count }, () => {
    const event = sampleEvent();
    queue.push(event);
    return event.id;
  });
}

test("events are written in order, each once, whatever their number", async () => {
  const { queue, stored } = createWorld();
  const ids = push(queue, 87);
  await queue.flush();
  expect(stored).toEqual(ids);
  expect(queue.counters()).toMatchObject({ written: 87, queued: 0, queuedBytes: 0, dropped: 0 });
});

test("an event waits for others for a moment only", async () => {
  const { queue, stored } = createWorld();
  push(queue, 1);
  expect(stored).toEqual([]);
  await waitFor("the batch", () => stored[0], 1000);
});

test("an event that came during a slow write waits no longer for others because of it", async () => {
  vi.useFakeTimers();
  const sentAtMs: number[] = [];
  const queue = createQueue(
    {
      append: async (rows) => {
        sentAtMs.push(Date.now());
        await new Promise((resolve) => setTimeout(resolve, 70));
        return { written: JSON.parse(rows).length, rejected: [] };
      },
      noteGap: async () => undefined,
      log: () => undefined,
    },
    { ...LIMITS, batchMs: 100 },
  );
  const startMs = Date.now();
  push(queue, 1);
  await vi.advanceTimersByTimeAsync(110);
  push(queue, 1);
  await vi.advanceTimersByTimeAsync(1000);
  vi.useRealTimers();
  expect(sentAtMs.map((ms) => ms - startMs)).toEqual([100, 200]);
  expect(queue.counters()).toMatchObject({ written: 2, queued: 0 });
});

describe("while the database is away", () => {
  test("events wait and are written when it is back, in order and once", async () => {
    const world = createWorld();
    world.isDown = true;
    const ids = push(world.queue, 30);
    await waitFor("two failures", () => world.queue.counters().errors >= 2 || undefined);
    world.isDown = false;
    await world.queue.flush();
    expect(world.stored).toEqual(ids);
    expect(world.retried[0]).toBe(true);
    expect(world.queue.counters()).toMatchObject({ written: 30, dropped: 0 });
  });

  test("the oldest go first when the queue is full, counted and told once", async () => {
    const world = createWorld();
    world.isDown = true;
    const ids = push(world.queue, 130);
    await waitFor("two failures", () => world.queue.counters().errors >= 2 || undefined);
    world.isDown = false;
    await world.queue.flush();
    expect(world.stored).toEqual(ids.slice(30));
    expect(world.queue.counters()).toMatchObject({ written: 100, dropped: 30, queued: 0 });
    expect(world.gaps).toEqual([30]);
    expect(world.lines).toEqual([
      "error the ledger cannot be written; events wait in memory, the oldest go first when it is full",
      "info the ledger can be written again",
      "error the ledger has a gap: its queue was full",
    ]);
  });

  test("a few large events count as much as many small ones", async () => {
    const world = createWorld({ maxBytes: 50_000 });
    world.isDown = true;
    for (let count = 0; count < 20; count++) {
      world.queue.push(sampleEvent({ path: `/${"x".repeat(8000)}` }));
    }
    expect(world.queue.counters().queuedBytes).toBeLessThanOrEqual(50_000);
    expect(world.queue.counters()).toMatchObject({ queued: 2, dropped: 18 });
    await world.queue.close(1);
  });

  test("closing gives up at its deadline and counts what is lost", async () => {
    const world = createWorld();
    world.isDown = true;
    push(world.queue, 7);
    await world.queue.close(50);
    expect(world.queue.counters()).toMatchObject({ dropped: 7, queued: 0, written: 0 });
    expect(world.lines.at(-1)).toBe("error the ledger is closed with events unwritten");
  });
});

test("an event that comes after the end is counted as lost, and harms nothing", async () => {
  const { queue, stored } = createWorld();
  push(queue, 3);
  await queue.close(1000);
  push(queue, 2);
  expect(stored).toHaveLength(3);
  expect(queue.counters()).toMatchObject({ written: 3, dropped: 2 });
});

test("an event that is not JSON is rejected alone", async () => {
  const { queue, stored, gaps } = createWorld();
  const [before] = push(queue, 1);
  queue.push(sampleEvent({ evidence: { odd: { value: 1n } } }));
  const [after] = push(queue, 1);
  await queue.flush();
  expect(stored).toEqual([before, after]);
  expect(queue.counters()).toMatchObject({ written: 2, rejected: 1 });
  expect(gaps).toEqual([1]);
});

test("pushing never waits and never throws, even into a full queue", () => {
  const world = createWorld({ maxEvents: 5 });
  world.isDown = true;
  const spy = vi.fn(() => push(world.queue, 1000));
  expect(spy).not.toThrow();
  expect(world.queue.counters()).toMatchObject({ queued: 5, dropped: 995 });
});
