import { setTimeout as sleep } from "node:timers/promises";

/** Asks every 20 ms until there is an answer; throws with `what` after `limitMs`. */
export async function waitFor<T>(
  what: string,
  ask: () => T | undefined | Promise<T | undefined>,
  limitMs = 10_000,
): Promise<T> {
  const end = performance.now() + limitMs;
  while (performance.now() < end) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await sleep(20);
  }
  throw new Error(`waited ${limitMs} ms for ${what}`);
}
