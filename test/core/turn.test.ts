import { expect, test } from "vitest";
import { createTurn } from "../../src/core/turn.ts";

test("what comes in one turn is handed on together, in order, when the turn ends", () => {
  const deferred: (() => void)[] = [];
  const handed: (readonly number[])[] = [];
  const defer = (run: () => void): void => {
    deferred.push(run);
  };
  const turn = createTurn({ most: 3, defer }, (items: readonly number[]) => handed.push(items));
  turn.add(1);
  turn.add(2);
  expect(handed).toEqual([]);
  for (const run of deferred.splice(0)) run();
  expect(handed).toEqual([[1, 2]]);
});

test("with as many as may wait, the turn ends early, and what comes then is not forgotten", () => {
  const deferred: (() => void)[] = [];
  const handed: number[] = [];
  const defer = (run: () => void): void => {
    deferred.push(run);
  };
  const turn = createTurn({ most: 3, defer }, (items: readonly number[]) => handed.push(...items));
  for (const item of [1, 2, 3, 4]) turn.add(item);
  expect(handed).toEqual([1, 2, 3]);
  for (const run of deferred.splice(0)) run();
  expect(handed).toEqual([1, 2, 3, 4]);
});

test("ended by hand, it hands on what waits, once", () => {
  const handed: number[] = [];
  const turn = createTurn({ most: 3, defer: setImmediate }, (items: readonly number[]) =>
    handed.push(...items),
  );
  turn.add(1);
  turn.end();
  turn.end();
  expect(handed).toEqual([1]);
});
