import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { expect, test } from "vitest";
import type { DecisionEvent } from "../../src/core/event.ts";
import { generateRobots } from "../../src/core/robots/generate.ts";
import { createGate } from "../../src/gate.ts";
import type { Reply } from "../../src/server/reply.ts";
import { createRobotsAnswer } from "../../src/server/robots.ts";
import { policyFrom } from "../support/compile.ts";

const policy = policyFrom(`site: { id: docs, host: docs.test, mode: enforce }
robots: { serve: true }
runtime: { default_action: { type: block, reason: closed } }
`);
const file = generateRobots(policy, "docs.test");

interface Asked {
  readonly reply: Reply;
  readonly events: readonly DecisionEvent[];
}

/** Asks a route that serves one file, each request in turn. */
async function ask(
  requests: readonly Readonly<Record<string, string>>[],
  isServed = true,
  method = "GET",
): Promise<Asked> {
  const events: DecisionEvent[] = [];
  const gate = createGate({
    verifier: {
      check: () => ({
        kind: "settled",
        proof: { verification: "unverifiable", evidence: undefined, cause: undefined },
      }),
      prove: async () => ({ verification: "unverifiable", evidence: undefined, cause: undefined }),
      warm: () => undefined,
      botsByIp: () => [],
    },
    spend: () => ({ refused: -1, retryAfterMs: 0, spent: [] }),
    record: (event) => events.push(event),
    seal: async (event) => event,
    newEventId: () => `event-${events.length}`,
    nowMs: () => 1_790_000_000_000,
    monotonicMs: () => 0,
  });
  const answer = createRobotsAnswer({
    gate,
    findSite: (host) => (host === "docs.test" ? policy : undefined),
    fileFor: () => (isServed ? file : undefined),
    trustedProxies: undefined,
    trustRequestId: true,
    nowMs: () => 1_790_000_000_000,
  });
  let reply: Reply | undefined;
  for (const headers of requests) {
    const message = new IncomingMessage(new Socket());
    message.method = method;
    Object.assign(message.headers, headers);
    reply = await answer(message, 0);
  }
  if (reply === undefined) throw new Error("nothing was asked");
  return { reply, events };
}

function field({ headers }: Reply, name: string): string | undefined {
  const at = headers.findIndex((value, index) => index % 2 === 0 && value === name);
  return at < 0 ? undefined : headers[at + 1];
}

const FROM_CADDY = {
  host: "127.0.0.1:9301",
  "x-forwarded-host": "DOCS.test:443",
  "x-forwarded-for": "203.0.113.9",
  "user-agent": "AnyBot",
};

test("everybody gets the file, also whom the rules would refuse, and the event says which version", async () => {
  const { reply, events } = await ask([FROM_CADDY]);
  expect(reply).toMatchObject({ status: 200, body: file.body });
  expect(field(reply, "Content-Type")).toBe("text/plain; charset=utf-8");
  expect(field(reply, "Content-Length")).toBe(String(file.body.length));
  expect(field(reply, "ETag")).toBe(`"${file.sha256.slice(0, 32)}"`);
  expect(field(reply, "Cache-Control")).toBe("public, max-age=300");
  expect(events).toHaveLength(1);
  expect(events[0]).toMatchObject({
    rule_id: "runtime.robots_txt",
    site_id: "docs",
    host: "docs.test",
    path: "/robots.txt",
    ip: "203.0.113.9",
    user_agent: "AnyBot",
    status: 200,
    evidence: { robots_sha256: file.sha256 },
  });
});

test("HEAD gets the headers alone", async () => {
  const { reply } = await ask([FROM_CADDY], true, "HEAD");
  expect(reply).toMatchObject({ status: 200, body: "" });
  expect(field(reply, "Content-Length")).toBe(String(file.body.length));
});

test("without X-Forwarded-Host the Host counts; an address that cannot be read refuses nothing", async () => {
  const { reply, events } = await ask([{ host: "docs.test", "x-forwarded-for": "a, b" }]);
  expect(reply.status).toBe(200);
  expect(events[0]).toMatchObject({ host: "docs.test", ip: null });
});

test("where no file is served it is 404, without an event: the site's own file follows", async () => {
  for (const [headers, isServed] of [
    [FROM_CADDY, false],
    [{ host: "other.test" }, true],
  ] as const) {
    const { reply, events } = await ask([headers], isServed);
    expect(reply.status).toBe(404);
    expect(events).toEqual([]);
  }
});

test("a proxy's retry is one fetch", async () => {
  const request = { ...FROM_CADDY, "x-request-id": "0123456789abcdef" };
  expect((await ask([request, request])).events).toHaveLength(1);
  expect((await ask([FROM_CADDY, FROM_CADDY])).events).toHaveLength(2);
});
