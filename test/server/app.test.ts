import { type AddressInfo, connect } from "node:net";
import { Writable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { afterEach, expect, test } from "vitest";
import { createApp } from "../../src/server/app.ts";
import { problem } from "../../src/server/reply.ts";

function appWith(sharedKey?: string): ReturnType<typeof createApp> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  return createApp({
    forwardAuth: (message) => {
      const fault = message.headers["x-fault"];
      const id = message.headers["x-id"];
      if (typeof id === "string") return problem(403, id, false);
      if (fault === "unsendable") return { status: 200, headers: ["X-A", "\n"], body: "" };
      if (fault === "waits") return wait(20).then(() => problem(403, "waited", false));
      if (fault === "throws") throw new Error("ours");
      if (fault === "rejects") return Promise.reject(new Error("ours"));
      return problem(403, "asked", false);
    },
    robots: () => problem(404, "robots_not_served", false),
    health: { isReady: () => true },
    jwks: () => '{"keys":[]}',
    sharedKey,
    log: pino(silent),
  });
}

const listening: FastifyInstance[] = [];

afterEach(async () => {
  for (const app of listening.splice(0)) {
    app.server.closeAllConnections();
    await app.close();
  }
});

/** Asks over a socket: what Fastify's `inject` reaches is not the whole server. */
async function ask(app: FastifyInstance, path: string, init: RequestInit = {}): Promise<Response> {
  if (!app.server.listening) {
    await app.listen({ host: "127.0.0.1", port: 0 });
    listening.push(app);
  }
  const { port } = app.server.address() as AddressInfo;
  return fetch(`http://127.0.0.1:${port}${path}`, init);
}

test.each([
  ["/nowhere", 404, "no_such_route"],
  ["/authz/forward-authority", 404, "no_such_route"],
  ["/authz/forward-auth/", 404, "no_such_route"],
  ["/%zz", 400, "bad_request"],
  ["/authz/forward-auth", 403, "asked"],
  ["/authz/forward-auth?method=HEAD", 403, "asked"],
])("%s is answered with a problem, and kept by no cache", async (url, status, detail) => {
  const answer = await ask(appWith(), url);
  expect(answer.status).toBe(status);
  expect(await answer.json()).toMatchObject({ status, detail });
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
});

test.each(["throws", "rejects"])(
  "an error of ours that %s is a 500 that says nothing",
  async (how) => {
    const answer = await ask(appWith(), "/authz/forward-auth", { headers: { "x-fault": how } });
    expect(answer.status).toBe(500);
    expect(await answer.json()).toMatchObject({ detail: "internal_error" });
  },
);

test("a body that comes with the question is discarded, and the connection goes on", async () => {
  const app = appWith();
  for (const body of ["x=1", "y".repeat(300_000)]) {
    const answer = await ask(app, "/authz/forward-auth", { method: "POST", body });
    expect(answer.status).toBe(403);
  }
});

test("a shared key is asked of every route but those of supervisors", async () => {
  const app = appWith("the key of this site");
  const answerTo = async (url: string, key?: string): Promise<string> => {
    const headers = key === undefined ? {} : { "x-crawlwall-key": key };
    return (await ask(app, url, { headers })).text();
  };
  expect(await answerTo("/authz/forward-auth", "the key of this site")).toContain("asked");
  expect(await answerTo("/authz/forward-auth", "another key")).toContain("wrong_key");
  expect(await answerTo("/authz/forward-auth")).toContain("wrong_key");
  expect(await answerTo("/robots.txt")).toContain("wrong_key");
  expect(await answerTo("/.well-known/crawlwall/jwks.json")).toContain("wrong_key");
  expect(await answerTo("/healthz")).toBe("ok\n");
  expect(await answerTo("/readyz")).toBe("ready\n");
});

/** Sends requests in one go, as a proxy under load or a pipelining client does; the details answered. */
async function askAtOnce(app: FastifyInstance, headers: readonly string[]): Promise<string[]> {
  await app.listen({ host: "127.0.0.1", port: 0 });
  listening.push(app);
  const { port } = app.server.address() as AddressInfo;
  const socket = connect(port, "127.0.0.1");
  const path = "/authz/forward-auth";
  socket.write(
    headers.map((each) => `GET ${path} HTTP/1.1\r\nHost: a\r\n${each}\r\n\r\n`).join(""),
  );
  let answers = "";
  const details = (): string[] =>
    Array.from(answers.matchAll(/"detail":"([^"]*)"/g), ([, detail]) => detail ?? "");
  for await (const chunk of socket.setEncoding("utf8")) {
    answers += chunk;
    if (details().length === headers.length) break;
  }
  return details();
}

test("questions that come at once are each answered with their own answer, in order", async () => {
  const ids = Array.from({ length: 300 }, (_, index) => `question ${index}`);
  expect(
    await askAtOnce(
      appWith(),
      ids.map((id) => `X-Id: ${id}`),
    ),
  ).toEqual(ids);
});

test("a fault or a wait of one question changes nothing for those that came with it", async () => {
  const faults = ["throws", "rejects", "unsendable", "waits"];
  const asked = faults.flatMap((fault) => [`X-Fault: ${fault}`, `X-Id: after ${fault}`]);
  expect(await askAtOnce(appWith(), asked)).toEqual([
    "internal_error",
    "after throws",
    "internal_error",
    "after rejects",
    "internal_error",
    "after unsendable",
    "waited",
    "after waits",
  ]);
});

test("whoever closes his half of the connection with the question is answered", async () => {
  const app = appWith();
  await ask(app, "/healthz");
  const { port } = app.server.address() as AddressInfo;
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    socket.end("GET /authz/forward-auth HTTP/1.1\r\nHost: a\r\n\r\n");
    let answer = "";
    for await (const chunk of socket.setEncoding("utf8")) answer += chunk;
    expect(answer).toContain("asked");
  }
});

test("whoever hangs up before the answer harms nobody", async () => {
  const app = appWith();
  expect((await ask(app, "/authz/forward-auth")).status).toBe(403);
  const { port } = app.server.address() as AddressInfo;
  for (const fault of ["none", "waits", "throws"]) {
    const socket = connect(port, "127.0.0.1");
    socket.write(`GET /authz/forward-auth HTTP/1.1\r\nHost: a\r\nX-Fault: ${fault}\r\n\r\n`);
    await wait(1);
    socket.resetAndDestroy();
  }
  await wait(50);
  expect((await ask(app, "/authz/forward-auth")).status).toBe(403);
});
