import { expect, test } from "vitest";
import type { Forwarded } from "../../src/server/forwarded.ts";
import { createReplays } from "../../src/server/replay.ts";

const ASKED: Forwarded = {
  method: "GET",
  uri: "/a",
  host: "docs.example.com",
  scheme: "https",
  forwardedFor: "198.51.100.10",
  userAgent: "Mozilla/5.0",
  requestId: "0123456789",
  isEarlyData: false,
};

function asked(change: Partial<Forwarded> = {}): Forwarded {
  return { ...ASKED, ...change };
}

const REPLY = {
  status: 403,
  headers: ["Content-Type", "application/problem+json", "X-Empty", ""],
  body: '{"detail":"closed"}',
};

type Replays = ReturnType<typeof createReplays>;

function keep(replays: Replays, change: Partial<Forwarded>, nowMs: number, reply = REPLY): void {
  replays.keep(replays.placeOf(asked(change), nowMs), reply);
}

function find(replays: Replays, change: Partial<Forwarded>, nowMs: number): unknown {
  return replays.find(replays.placeOf(asked(change), nowMs));
}

test("a repeat within ten seconds gets the same answer, later it is a new request", () => {
  const replays = createReplays();
  keep(replays, {}, 0);
  expect(find(replays, {}, 10_000)).toEqual(REPLY);
  expect(find(replays, {}, 10_001)).toBeUndefined();
});

test.each([
  { uri: "/b" },
  { method: "POST" },
  { host: "other.example.com" },
  { forwardedFor: "198.51.100.11" },
  { userAgent: "curl" },
  { scheme: "http" as const },
  { isEarlyData: true },
])("an id that comes with another request, %o, is another request", (change) => {
  const replays = createReplays();
  keep(replays, {}, 0);
  expect(find(replays, change, 1)).toBeUndefined();
});

test("a repeat joins the answer that is still being made", () => {
  const replays = createReplays();
  const answer = Promise.resolve(REPLY);
  replays.keep(replays.placeOf(ASKED, 0), answer);
  expect(find(replays, {}, 1)).toBe(answer);
});

test("an answer that was never made is no answer to a repeat", () => {
  const replays = createReplays();
  replays.placeOf(ASKED, 0);
  expect(find(replays, {}, 1)).toBeUndefined();
});

test("a flood of ids forgets the oldest and keeps to its bound", () => {
  const replays = createReplays();
  for (let index = 0; index <= 65_536; index += 1) {
    keep(replays, { requestId: `id-${index}-padding` }, 0);
  }
  expect(find(replays, { requestId: "id-1-padding" }, 1)).toEqual(REPLY);
  expect(find(replays, { requestId: "id-0-padding" }, 1)).toBeUndefined();
});

test("what was forgotten is not found again when its place is taken", () => {
  const replays = createReplays();
  const count = 3 * 65_536;
  for (let index = 0; index < count; index += 1) {
    const requestId = `id-${index}-padding`;
    keep(replays, { requestId }, index / 100, { ...REPLY, status: index });
  }
  for (const index of [131_072, 150_000, count - 1]) {
    const found = find(replays, { requestId: `id-${index}-padding` }, count / 100);
    expect(found).toMatchObject({ status: index });
  }
  for (const index of [0, 1, 65_536, 131_071]) {
    expect(find(replays, { requestId: `id-${index}-padding` }, count / 100)).toBeUndefined();
  }
});

test("places are used again: what is kept at a time decides about memory, not what ever came", () => {
  const replays = createReplays();
  const places = new Set<number>();
  for (let index = 0; index < 5000; index += 1) {
    const place = replays.placeOf(asked({ requestId: `id-${index}-padding` }), index * 100);
    replays.keep(place, REPLY);
    places.add(place);
  }
  // 100 a time of keeping, and no more than a few that have not been given back yet.
  expect(places.size).toBeLessThan(110);
});

test("a quiet hour after a busy one lets go of the answers", async () => {
  const replays = createReplays();
  const places = Array.from({ length: 100 }, (_, index) => {
    const place = replays.placeOf(asked({ requestId: `id-${index}-padding` }), 0);
    replays.keep(place, REPLY);
    return place;
  });
  for (let index = 0; index < 50; index += 1) {
    keep(replays, { requestId: `later-${index}-padding` }, 20_000, { ...REPLY, status: 200 });
  }
  const kept = await Promise.all(places.map((place) => replays.find(place)));
  expect(kept.filter((reply) => reply?.status === REPLY.status)).toHaveLength(0);
});

test.each([
  ["of two lines", { body: "User-agent: *\nDisallow:\n" }],
  ["long", { body: "x".repeat(5000) }],
  ["not ASCII", { body: '{"detail":"fermé — 閉"}' }],
  ["without a body", { body: "" }],
  ["without headers", { headers: [] }],
])("an answer that is %s is the same again", (_, change) => {
  const replays = createReplays();
  const reply = { ...REPLY, ...change };
  keep(replays, {}, 0, reply);
  expect(find(replays, {}, 1)).toEqual(reply);
});

test("an answer of any kind gives way to the next at its place", () => {
  const replays = createReplays();
  const long = { ...REPLY, body: "x".repeat(5000) };
  keep(replays, {}, 0, long);
  keep(replays, {}, 20_000, REPLY);
  expect(find(replays, {}, 20_001)).toEqual(REPLY);
  keep(replays, {}, 40_000, long);
  expect(find(replays, {}, 40_001)).toEqual(long);
});
