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

const REPLY = { status: 403, headers: [], body: "" };

test("a repeat within ten seconds gets the same answer, later it is a new request", () => {
  const replays = createReplays();
  replays.keep(asked(), REPLY, 0);
  expect(replays.find(asked(), 10_000)).toBe(REPLY);
  expect(replays.find(asked(), 10_001)).toBeUndefined();
});

test.each([
  { uri: "/b" },
  { method: "POST" },
  { host: "other.example.com" },
  { forwardedFor: "198.51.100.11" },
  { userAgent: "curl" },
  { scheme: "http" as const },
])("an id that comes with another request, %o, is another request", (change) => {
  const replays = createReplays();
  replays.keep(asked(), REPLY, 0);
  expect(replays.find(asked(change), 1)).toBeUndefined();
});

test("a repeat joins the answer that is still being made", async () => {
  const replays = createReplays();
  const answer = Promise.resolve(REPLY);
  replays.keep(asked(), answer, 0);
  expect(replays.find(asked(), 1)).toBe(answer);
});

test("a flood of ids forgets the oldest and keeps to its bound", () => {
  const replays = createReplays();
  for (let index = 0; index <= 65_536; index += 1) {
    replays.keep(asked({ requestId: `id-${index}-padding` }), REPLY, 0);
  }
  expect(replays.find(asked({ requestId: "id-0-padding" }), 1)).toBeUndefined();
  expect(replays.find(asked({ requestId: "id-1-padding" }), 1)).toBe(REPLY);
});

test("a flood of long requests forgets the oldest and keeps to its bound", () => {
  const replays = createReplays();
  const uri = `/${"a".repeat(60_000)}`;
  const before = process.memoryUsage().arrayBuffers;
  for (let index = 0; index < 2000; index += 1) {
    replays.keep(asked({ requestId: `id-${index}-padding`, uri }), REPLY, 0);
  }
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1024 * 1024);
  expect(replays.find(asked({ requestId: "id-1000-padding", uri }), 1)).toBeUndefined();
  expect(replays.find(asked({ requestId: "id-1500-padding", uri }), 1)).toBe(REPLY);
});

test("of requests with one id each has its own answer", () => {
  const replays = createReplays();
  const replies = Array.from({ length: 20 }, (_, index) => ({ ...REPLY, status: 400 + index }));
  for (const [index, reply] of replies.entries()) {
    replays.keep(asked({ uri: `/${index}` }), reply, 0);
  }
  for (const [index, reply] of replies.entries()) {
    expect(replays.find(asked({ uri: `/${index}` }), 1)).toBe(reply);
  }
});

test("what was forgotten is not found again when its place is taken", () => {
  const replays = createReplays();
  const count = 3 * 65_536;
  for (let index = 0; index < count; index += 1) {
    const requestId = `id-${index}-padding`;
    replays.keep(asked({ requestId }), { ...REPLY, status: index }, index / 10);
  }
  for (const index of [0, 1, 65_536, 131_071]) {
    expect(replays.find(asked({ requestId: `id-${index}-padding` }), count / 10)).toBeUndefined();
  }
  for (const index of [131_072, 150_000, count - 1]) {
    const found = replays.find(asked({ requestId: `id-${index}-padding` }), count / 10);
    expect(found).toMatchObject({ status: index });
  }
});

test("of a request without an id nothing is kept", () => {
  const replays = createReplays();
  replays.keep(asked({ requestId: undefined }), REPLY, 0);
  expect(replays.find(asked({ requestId: undefined }), 0)).toBeUndefined();
});
