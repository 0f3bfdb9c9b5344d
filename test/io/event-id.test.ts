import { expect, test } from "vitest";
import { createEventIds } from "../../src/io/event-id.ts";

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test("ids are UUIDs of version 7 that begin with their time", () => {
  const newId = createEventIds();
  for (let count = 0; count < 3000; count += 1) {
    const id = newId(1_700_000_000_000 + count);
    expect(id).toMatch(UUID_V7);
    expect(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16)).toBe(
      1_700_000_000_000 + count,
    );
  }
});

test("ids of one millisecond, and of a clock that steps back, are distinct and in order", () => {
  const newId = createEventIds();
  const ids: string[] = [];
  for (let count = 0; count < 10_000; count += 1) ids.push(newId(1_700_000_000_000 - (count % 7)));
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.toSorted()).toEqual(ids);
});

test("what is random in an id comes in no other", () => {
  const newId = createEventIds();
  const random = new Set<string>();
  for (let count = 0; count < 5000; count += 1)
    random.add(newId(1_700_000_000_000 + count).slice(20));
  expect(random.size).toBe(5000);
});
