import { expect, test } from "vitest";
import { replyTo } from "../../src/server/reply.ts";
import { policyFrom } from "../support/compile.ts";
import { requestFor, testGate } from "../support/visits.ts";

async function answer(mode: string, action: string, requests = 1): Promise<Map<string, string>> {
  const policy = policyFrom(`
site: { id: docs, host: docs.example.com, mode: ${mode} }
rules:
- { id: the_rule, priority: 1, when: "true", action: ${action} }
`);
  const gate = testGate({ kind: "settled", verification: "refuted" });
  let outcome = await gate.judge(policy, requestFor());
  for (let count = 1; count < requests; count += 1) {
    outcome = await gate.judge(policy, requestFor());
  }
  const { status, headers, body } = replyTo(outcome, false);
  const fields = new Map([
    [":status", String(status)],
    [":body", body],
  ]);
  for (let index = 0; index < headers.length; index += 2) {
    const name = (headers[index] ?? "").toLowerCase();
    expect(fields.has(name), `${name} comes once`).toBe(false);
    fields.set(name, headers[index + 1] ?? "");
  }
  return fields;
}

const VERDICT = ["decision", "rule", "bot", "verification", "event", "receipt"].map(
  (name) => `x-crawlwall-${name}`,
);

test.each([
  ["enforce", "{ type: allow }", "allow"],
  ["enforce", "{ type: allow_metered, price: { amount: 0.002, currency: USD } }", "allow_metered"],
  ["enforce", "{ type: rate_limit, limit: { key: request.ip, rpm: 10 } }", "rate_limit"],
  ["shadow", "{ type: block, status: 403, reason: no }", "would_block"],
])("in %s, %s lets through as %s with every header", async (mode, action, decision) => {
  const fields = await answer(mode, action);
  expect(fields.get(":status")).toBe("200");
  expect(fields.get("content-length")).toBe("0");
  expect(fields.get("x-crawlwall-decision")).toBe(decision);
  for (const name of VERDICT) expect(fields.get(name), name).toMatch(/./);
});

test("in shadow a limit that is reached would rate-limit", async () => {
  const limit = "{ type: rate_limit, limit: { key: request.ip, rpm: 1 } }";
  const fields = await answer("shadow", limit, 2);
  expect(fields.get("x-crawlwall-decision")).toBe("would_rate_limit");
});

test("a refusal is a problem that nobody may store, and says nothing of how it came about", async () => {
  const fields = await answer("enforce", "{ type: block, status: 451, reason: legal }");
  expect(fields.get(":status")).toBe("451");
  expect(fields.get("cache-control")).toBe("no-store");
  expect(fields.get("x-content-type-options")).toBe("nosniff");
  expect(fields.get("content-type")).toBe("application/problem+json");
  expect(JSON.parse(fields.get(":body") ?? "")).toEqual({
    type: "about:blank",
    title: "Unavailable For Legal Reasons",
    status: 451,
    detail: "legal",
    instance: "urn:uuid:event-1",
  });
  expect([...fields.keys()].filter((name) => name.startsWith("x-crawlwall"))).toEqual([]);
});

test("429 says when to come back, and what the policy is", async () => {
  const limit = "{ type: rate_limit, limit: { key: request.ip, rpm: 7, burst: 2 } }";
  const fields = await answer("enforce", limit, 3);
  expect(fields.get(":status")).toBe("429");
  expect(fields.get("retry-after")).toBe("9");
  expect(fields.get("ratelimit-policy")).toBe('"requests";q=2;w=18');
  expect(fields.get("ratelimit")).toBe('"requests";r=0;t=9');
});

test("402 names its price and terms", async () => {
  const fields = await answer(
    "enforce",
    '{ type: block, status: 402, reason: pay, price: { amount: "0.30", currency: USD }, terms: "https://example.com/terms" }',
  );
  expect(fields.get("crawler-price")).toBe("USD 0.30");
  expect(fields.get("link")).toBe('<https://example.com/terms>; rel="license"');
});

test("503 says when to come back", async () => {
  const fields = await answer("enforce", "{ type: block, status: 503, reason: later }");
  expect(fields.get("retry-after")).toBe("30");
});
