import { expect, test } from "vitest";
import type { Forwarded } from "../../src/server/forwarded.ts";
import { createReplays, replayKey } from "../../src/server/replay.ts";

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

function keyOf(change: Partial<Forwarded> = {}): string {
  const key = replayKey({ ...ASKED, ...change });
  if (key === undefined) throw new Error("no id");
  return key;
}

const REPLY = { status: 403, headers: [], body: "" };

test("a repeat within ten seconds gets the same answer, later it is a new request", () => {
  const replays = createReplays();
  replays.keep(keyOf(), REPLY, 0);
  expect(replays.find(keyOf(), 10_000)).toBe(REPLY);
  expect(replays.find(keyOf(), 10_001)).toBeUndefined();
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
  replays.keep(keyOf(), REPLY, 0);
  expect(replays.find(keyOf(change), 1)).toBeUndefined();
});

test("a repeat joins the answer that is still being made", async () => {
  const replays = createReplays();
  const answer = Promise.resolve(REPLY);
  replays.keep(keyOf(), answer, 0);
  expect(replays.find(keyOf(), 1)).toBe(answer);
});

test("a flood of ids forgets the oldest and keeps to its bound", () => {
  const replays = createReplays();
  for (let index = 0; index <= 65_536; index += 1) {
    replays.keep(keyOf({ requestId: `id-${index}-padding` }), REPLY, 0);
  }
  expect(replays.find(keyOf({ requestId: "id-0-padding" }), 1)).toBeUndefined();
  expect(replays.find(keyOf({ requestId: "id-1-padding" }), 1)).toBe(REPLY);
});

test("a request without an id has no key", () => {
  expect(replayKey({ ...ASKED, requestId: undefined })).toBeUndefined();
});
