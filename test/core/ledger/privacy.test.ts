import { expect, test } from "vitest";
import { protectEvent } from "../../../src/core/ledger/privacy.ts";
import { sampleEvent } from "../../io/ledger/sample.ts";

const event = sampleEvent({ ip: "203.0.113.9", query: "token=secret" });
const hash = (ip: string): string => `hash of ${ip}`;

test.each([
  ["full", "203.0.113.9"],
  ["truncated", "203.0.113.0"],
  ["hashed", "hash of 203.0.113.9"],
  ["none", null],
] as const)("an address is kept as the policy says: %s", (ip, kept) => {
  expect(protectEvent(event, { ip, query: "keep" }, hash)).toEqual({ ...event, ip: kept });
});

test("a query that is dropped leaves no trace, and nothing else changes", () => {
  expect(protectEvent(event, { ip: "full", query: "drop" }, hash)).toEqual({
    ...event,
    query: null,
  });
  expect(protectEvent(event, { ip: "full", query: "keep" }, hash)).toBe(event);
});
