import { expect, test } from "vitest";
import type { Steps } from "../../src/core/steps.ts";
import { inSlices } from "../../src/load/slices.ts";

const STEPS = 30;
const STEP_MS = 2;

function* longWork(): Steps<string> {
  for (let count = 0; count < STEPS; count += 1) {
    const end = performance.now() + STEP_MS;
    while (performance.now() < end);
    yield;
  }
  return "done";
}

test("others have their turns while a long work is done, and the work ends", async () => {
  let isOver = false;
  let turns = 0;
  const takeTurn = (): void => {
    turns += 1;
    if (!isOver) setImmediate(takeTurn);
  };
  takeTurn();
  const result = await inSlices(longWork());
  isOver = true;
  expect(result).toBe("done");
  // Two steps fill a slice; a third where the clock rounds in its favour.
  expect(turns).toBeGreaterThanOrEqual(STEPS / 3);
});

test("a fault in a step is the fault of the whole", async () => {
  const fails = function* (): Steps<void> {
    yield;
    throw new Error("no");
  };
  await expect(inSlices(fails())).rejects.toThrow("no");
});
