import { Writable } from "node:stream";
import { pino } from "pino";
import { expect, test } from "vitest";
import { createApp } from "../../src/server/app.ts";
import { problem } from "../../src/server/reply.ts";

function appWith(sharedKey?: string): ReturnType<typeof createApp> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  return createApp({
    forwardAuth: (message) => {
      if (message.headers["x-throw"] !== undefined) throw new Error("ours");
      return problem(403, "asked", false);
    },
    robots: () => problem(404, "robots_not_served", false),
    health: { isReady: () => true },
    jwks: () => '{"keys":[]}',
    sharedKey,
    log: pino(silent),
  });
}

test.each([
  ["/nowhere", 404, "no_such_route"],
  ["/%zz", 400, "bad_request"],
  ["/authz/forward-auth", 403, "asked"],
  ["/authz/forward-auth?method=HEAD", 403, "asked"],
])("%s is answered with a problem, and kept by no cache", async (url, status, detail) => {
  const answer = await appWith().inject({ url });
  expect(answer.statusCode).toBe(status);
  expect(answer.json()).toMatchObject({ status, detail });
  expect(answer.headers).toMatchObject({
    "cache-control": "no-store",
    "content-type": "application/problem+json",
  });
});

test("an error of ours is a 500 that says nothing, never an allow", async () => {
  const answer = await appWith().inject({
    url: "/authz/forward-auth",
    headers: { "x-throw": "1" },
  });
  expect(answer.statusCode).toBe(500);
  expect(answer.json()).toMatchObject({ detail: "internal_error" });
});

test("a shared key is asked of every route but those of supervisors", async () => {
  const app = appWith("the key of this site");
  const answerTo = async (url: string, key?: string): Promise<string> => {
    const headers = key === undefined ? {} : { "x-crawlwall-key": key };
    return (await app.inject({ url, headers })).body;
  };
  expect(await answerTo("/authz/forward-auth", "the key of this site")).toContain("asked");
  expect(await answerTo("/authz/forward-auth", "another key")).toContain("wrong_key");
  expect(await answerTo("/robots.txt")).toContain("wrong_key");
  expect(await answerTo("/.well-known/crawlwall/jwks.json")).toContain("wrong_key");
  expect(await answerTo("/healthz")).toBe("ok\n");
  expect(await answerTo("/readyz")).toBe("ready\n");
});
