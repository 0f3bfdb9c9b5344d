import { expect, test } from "vitest";
import type { DecisionEvent } from "../../../src/core/event.ts";
import { type Explanation, explainEvent } from "../../../src/core/ledger/explain.ts";
import { policyDocument } from "../../../src/core/policy/hash.ts";
import { restorePolicy } from "../../../src/core/policy/restore.ts";
import { sampleEvent } from "../../io/ledger/sample.ts";
import { policyFrom } from "../../support/compile.ts";

const POLICY = policyFrom(`
site: { id: docs, host: docs.example.com, mode: enforce }
sets: { protected_paths: [/archive], odd: [1, 2] }
bots:
  - { id: gptbot, name: GPTBot, class: ai_training, match: { user_agents: [GPTBot] }, verify: { type: static_ranges, cidrs: [203.0.113.0/24] } }
rules:
  - { id: spoofed, priority: 10, when: "bot.claimed && !bot.verified", action: { type: block, status: 403, reason: spoofed_bot } }
  - { id: trial, priority: 20, mode: shadow, when: 'request.path.startsWith("/archive")', action: { type: block, status: 402, reason: pay } }
  - { id: secret, priority: 30, when: '"x-secret" in request.headers', action: { type: allow } }
  - { id: odd, priority: 40, when: "request.query.size() in sets.odd", action: { type: block, status: 403, reason: odd } }
  - { id: limited, priority: 50, when: "sets.protected_paths.exists(p, request.path.startsWith(p))", action: { type: rate_limit, limit: { key: bot.id, rpm: 10 } } }
`);

function explain(given: Partial<DecisionEvent>): Explanation {
  const document = policyDocument(POLICY);
  return explainEvent(
    sampleEvent({ policy_hash: POLICY.hash, ...given }),
    restorePolicy(document, POLICY.hash),
  );
}

function kindsOf(explanation: Explanation): Readonly<Record<string, readonly string[]>> {
  const rules = explanation.rules ?? [];
  return Object.fromEntries(
    rules.map((rule) => [rule.rule_id, rule.results.map(({ kind }) => kind)]),
  );
}

test("a policy's document has the hash that its events name, and is refused when it was changed", () => {
  const document = policyDocument(POLICY);
  expect(restorePolicy(document, POLICY.hash)?.content.rules.map(({ id }) => id)).toEqual([
    "spoofed",
    "trial",
    "secret",
    "odd",
    "limited",
  ]);
  expect(restorePolicy(document.replace("403", "402"), POLICY.hash)).toBeUndefined();
});

test("each rule is considered in order, up to the one that decided", () => {
  const spoofed = explain({ bot_id: "gptbot", claimed: true, verification: "refuted" });
  expect(spoofed.bot).toMatchObject({ name: "GPTBot", class: "ai_training" });
  expect(kindsOf(spoofed)).toMatchObject({
    spoofed: ["matches"],
    trial: ["not_considered"],
    limited: ["not_considered"],
  });
});

test("a shadow rule that matches hides nothing, and a rule on an unrecorded header is unknown", () => {
  const explanation = explain({ path: "/archive/a", query: "abc", rule_id: "limited" });
  expect(kindsOf(explanation)).toEqual({
    spoofed: ["does_not_match"],
    trial: ["matches"],
    secret: ["unknown"],
    odd: ["does_not_match"],
    limited: ["matches"],
    "runtime.default_action": ["not_considered"],
  });
  const limited = explanation.rules?.find(({ rule_id }) => rule_id === "limited");
  expect(limited).toMatchObject({ decided: true, limit: { key: "bot.id", rpm: 10, burst: 10 } });
});

test("integers of sets are integers again", () => {
  expect(kindsOf(explain({ query: "a", path: "/" })).odd).toEqual(["matches"]);
});

test("every reading of the path is shown with what the rules say of it", () => {
  const explanation = explain({ path: "/archive", raw_path: "/x//../archive" });
  expect(explanation.readings?.[0]).toBe("/archive");
  expect(kindsOf(explanation).limited).toContain("does_not_match");
  expect(kindsOf(explanation).limited).toContain("matches");
});

test("what nothing depended on is not made up: an unasked verification is unknown", () => {
  const explanation = explain({ bot_id: "gptbot", claimed: true, verification: "not_needed" });
  expect(kindsOf(explanation).spoofed).toEqual(["unknown"]);
});

test("a decision before the rules, and one of an unknown policy, say so", () => {
  expect(explain({ rule_id: "runtime.early_data" })).toMatchObject({
    rules: null,
    note: "decided before the rules were asked",
  });
  expect(explainEvent(sampleEvent(), undefined)).toMatchObject({
    rules: null,
    note: "the policy that decided is not in the ledger",
  });
});
