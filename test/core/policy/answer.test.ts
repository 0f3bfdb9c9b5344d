import { expect, test } from "vitest";
import { answerUnder } from "../../../src/core/policy/answer.ts";
import { policyFrom } from "../../support/compile.ts";
import { requestFor } from "../../support/visits.ts";

const HEAD = `
site: { id: docs, host: docs.example.com, mode: enforce }
`;

function decide(rules: string, uri: string): { rule: string; reading: string | undefined } {
  const policy = policyFrom(`${HEAD}rules:\n${rules}`);
  const claim = { bot: policy.defaultBot, verification: "unverifiable" } as const;
  const answer = answerUnder(policy, claim, requestFor({ uri }));
  return { rule: answer.rule.id, reading: answer.reading };
}

const BLOCK_SECRET = `
- id: block_secret
  priority: 10
  when: request.path.startsWith("/secret")
  action: { type: block, status: 403, reason: secret }
`;

test.each([
  "/secret",
  "/x/../secret",
  "/x//../secret",
  "/x/%2f../secret",
  "/x//%2e%2e/secret",
  "/secret/..%2fpublic",
  "/%2573ecret",
  "/;a/secret",
  "/x/..\\secret",
])("a block of one reading stands for %s", (uri) => {
  expect(decide(BLOCK_SECRET, uri).rule).toBe("block_secret");
});

test("a plain path is not blocked for looking alike", () => {
  expect(decide(BLOCK_SECRET, "/public/secret").rule).toBe("runtime.default_action");
});

test("between blocks the canonical reading decides, then the lower priority", () => {
  const rules = `
- id: block_b
  priority: 10
  when: request.path == "/b"
  action: { type: block, status: 403, reason: b }
- id: block_a
  priority: 20
  when: request.path == "/a/b"
  action: { type: block, status: 404, reason: a }
`;
  // Merged first, /a//../b is /b; with the dot segment removed first it is /a/b.
  expect(decide(rules, "/a//../b")).toEqual({ rule: "block_b", reading: undefined });
  expect(decide(rules, "/x/%252e%252e/b")).toEqual({ rule: "block_b", reading: "/b" });
});

test("a rule that meters one reading wins over one that merely allows another", () => {
  const rules = `
- id: meter_data
  priority: 10
  when: request.path == "/data/b"
  action: { type: allow_metered, price: { amount: 0.002, currency: USD, unit: request } }
- id: allow_rest
  priority: 20
  when: "true"
  action: { type: allow }
`;
  expect(decide(rules, "/data//../b")).toEqual({ rule: "meter_data", reading: "/data/b" });
});

test("every distinct limit that a reading chooses has to be paid, once", () => {
  const policy = policyFrom(`${HEAD}rules:
- id: limit_b
  priority: 10
  when: request.path == "/b"
  action: { type: rate_limit, limit: { key: request.ip, rpm: 10 } }
- id: limit_a
  priority: 20
  when: request.path.startsWith("/a")
  action: { type: rate_limit, limit: { key: request.ip, rpm: 10 } }
`);
  const claim = { bot: policy.defaultBot, verification: "unverifiable" } as const;
  const answer = answerUnder(policy, claim, requestFor({ uri: "/a//../b" }));
  expect(answer.charges.map((charge) => charge.ruleId)).toEqual(["limit_b", "limit_a"]);
  expect(answer.rule.id).toBe("limit_b");
});

test("a blank key counts by address, apart from a client that sends that address as its key", () => {
  const policy = policyFrom(`${HEAD}rules:
- id: limit
  priority: 10
  when: "true"
  action: { type: rate_limit, limit: { key: request.headers.x-api-key, rpm: 10 } }
`);
  const claim = { bot: policy.defaultBot, verification: "unverifiable" } as const;
  const bucketFor = (headers: readonly string[]): string | undefined =>
    answerUnder(policy, claim, requestFor({ headers })).charges[0]?.bucket;
  expect(bucketFor([])).toBe(bucketFor(["X-Api-Key", ""]));
  expect(bucketFor([])).not.toBe(bucketFor(["X-Api-Key", "198.51.100.10"]));
});
