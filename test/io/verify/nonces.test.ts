import { expect, test } from "vitest";
import { createNonceStore } from "../../../src/io/verify/nonces.ts";

const LATER = 60_000;

test("a nonce is new once for each agent and key, until it expires", () => {
  const nonces = createNonceStore();
  expect(nonces.add("https://a.test", "key", "one", LATER, 0)).toBe(true);
  expect(nonces.add("https://a.test", "key", "one", LATER, 1)).toBe(false);
  expect(nonces.add("https://b.test", "key", "one", LATER, 1)).toBe(true);
  expect(nonces.add("https://a.test", "other", "one", LATER, 1)).toBe(true);
  expect(nonces.add("https://a.test", "key", "one", 2 * LATER, LATER)).toBe(false);
  expect(nonces.add("https://a.test", "key", "one", 2 * LATER, LATER + 1)).toBe(true);
});

test("no choice of words makes two nonces one", () => {
  const nonces = createNonceStore();
  expect(nonces.add("a", 'b","c', "d", LATER, 0)).toBe(true);
  expect(nonces.add("a", "b", 'c","d', LATER, 0)).toBe(true);
});

test("a flood of nonces is bounded: the oldest are forgotten, the newest are not", () => {
  const nonces = createNonceStore();
  for (let count = 0; count < 140_000; count++) nonces.add("a", "k", `${count}`, LATER, 0);
  expect(nonces.add("a", "k", "139999", LATER, 0)).toBe(false);
  expect(nonces.add("a", "k", "20000", LATER, 0)).toBe(false);
  expect(nonces.add("a", "k", "1", LATER, 0)).toBe(true);
});
