import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { LedgerQuery } from "../../../src/io/ledger/ledger.ts";
import { startUpkeep, type Upkeep } from "../../../src/io/ledger/upkeep.ts";

const DAY_MS = 86_400_000;

let upkeep: Upkeep;
let asked: (readonly [method: string, request: unknown])[];
let removedAudits: number;
let lines: string[];

/** Answers as a ledger without events does. */
const query: LedgerQuery = async (method, request) => {
  asked.push([method, request]);
  const replies: Readonly<Record<string, unknown>> = {
    writers: [],
    vacuumStep: { removed: 0, next: undefined },
    dropAudits: removedAudits,
  };
  return replies[method] as never;
};

beforeEach(() => {
  vi.useFakeTimers({ now: 1000 * DAY_MS });
  asked = [];
  lines = [];
  removedAudits = 0;
  upkeep = startUpkeep(query, (_level, fields, message) => {
    lines.push(`${JSON.stringify(fields)} ${message}`);
  });
});

afterEach(() => {
  upkeep.stop();
  vi.useRealTimers();
});

async function afterTheFirstTurn(): Promise<string | undefined> {
  await vi.advanceTimersByTimeAsync(60_000);
  const drop = asked.find(([method]) => method === "dropAudits");
  const { before } = (drop?.[1] ?? {}) as { readonly before?: string };
  return before;
}

function daysBeforeTheTurn(days: number): string {
  return new Date((1000 - days) * DAY_MS + 60_000).toISOString();
}

test("audits go at the age of the site that keeps its events longest", async () => {
  upkeep.adopt(
    [],
    new Map([
      ["short", 7 * DAY_MS],
      ["long", 30 * DAY_MS],
    ]),
  );
  expect(await afterTheFirstTurn()).toBe(daysBeforeTheTurn(30));
});

test("audits go after 90 days where no site says anything", async () => {
  expect(await afterTheFirstTurn()).toBe(daysBeforeTheTurn(90));
});

test("what went by age is told, and nothing where nothing went", async () => {
  await afterTheFirstTurn();
  expect(lines).toEqual([]);
  removedAudits = 4;
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(lines).toEqual(['{"removed":4} old audits were removed from the ledger']);
});
