import { setImmediate } from "node:timers/promises";
import type { Steps } from "../core/steps.ts";

/** How long others wait for their turn, about, while a long work is done. */
const SLICE_MS = 4;

/** Does steps for a few milliseconds at a time: whoever asks meanwhile is answered in between. */
export async function inSlices<Result>(steps: Steps<Result>): Promise<Result> {
  let start = performance.now();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (performance.now() - start < SLICE_MS) continue;
    await setImmediate();
    start = performance.now();
  }
}
