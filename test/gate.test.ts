import { expect, test } from "vitest";
import type { Verification } from "../src/core/bot/bot.ts";
import { policyFrom } from "./support/compile.ts";
import { requestFor, TESTBOT, testGate } from "./support/visits.ts";

const CRAWLER = "TestBot/1.0";

function siteWith(mode: string, rules: string, runtime = ""): string {
  return `
site: { id: docs, host: docs.example.com, mode: ${mode} }
${runtime}
${TESTBOT}
rules:
${rules}
`;
}

const SPOOFED = `
- id: block_spoofed
  priority: 10
  when: bot.claimed && !bot.verified
  action: { type: block, status: 403, reason: spoofed_bot }
`;

const OPEN = ["verified", "refuted", "unavailable"] as const;

function openGate(comes: Verification): ReturnType<typeof testGate> {
  return testGate({ kind: "open", possible: OPEN, comes });
}

test("a proof is asked for where the answer depends on it, and decides", async () => {
  const policy = policyFrom(siteWith("enforce", SPOOFED));
  const gate = openGate("verified");
  const outcome = await gate.judge(policy, requestFor({ userAgent: CRAWLER }));
  expect(gate.asked()).toBe(1);
  expect(outcome.verification).toBe("verified");
  expect(outcome.decision.ruleId).toBe("runtime.default_action");
});

test("no proof is asked for where every outcome leads to the same answer", () => {
  const rules = `
- id: block_archive
  priority: 10
  when: request.path.startsWith("/archive")
  action: { type: block, status: 403, reason: archive }
${SPOOFED.replace("priority: 10", "priority: 20")}`;
  const gate = openGate("verified");
  const outcome = gate.judge(
    policyFrom(siteWith("enforce", rules)),
    requestFor({ userAgent: CRAWLER, uri: "/archive/a" }),
  );
  expect(outcome).not.toBeInstanceOf(Promise);
  expect(gate.asked()).toBe(0);
  expect(gate.events[0]).toMatchObject({ verification: "not_needed", rule_id: "block_archive" });
});

test("with verify: always the proof is fetched behind the answer", () => {
  const policy = policyFrom(
    siteWith(
      "enforce",
      '\n- {id: a, priority: 1, when: "true", action: {type: allow}}',
      "runtime: { verify: always }",
    ),
  );
  const gate = openGate("verified");
  expect(gate.judge(policy, requestFor({ userAgent: CRAWLER }))).not.toBeInstanceOf(Promise);
  expect(gate.asked()).toBe(1);
});

test("a person is never kept waiting for a proof", () => {
  const gate = openGate("verified");
  const outcome = gate.judge(policyFrom(siteWith("enforce", SPOOFED)), requestFor());
  expect(outcome).not.toBeInstanceOf(Promise);
  expect(gate.events[0]).toMatchObject({ claimed: false, verification: "unverifiable" });
});

test("fail_mode block answers 503 where an unavailable proof would have mattered", async () => {
  const gate = openGate("unavailable");
  const policy = policyFrom(siteWith("enforce", SPOOFED));
  const { decision } = await gate.judge(policy, requestFor({ userAgent: CRAWLER }));
  expect(decision).toMatchObject({
    ruleId: "runtime.verifier_error",
    status: 503,
    reason: "verification_unavailable",
    action: "block",
  });
});

test("in shadow an unavailable proof is recorded as the block it would be, and served", async () => {
  const gate = openGate("unavailable");
  await gate.judge(policyFrom(siteWith("shadow", SPOOFED)), requestFor({ userAgent: CRAWLER }));
  expect(gate.events[0]).toMatchObject({
    rule_id: "runtime.verifier_error",
    action: "block",
    status: 200,
    would_block: true,
    enforced: false,
  });
});

test("fail_mode allow falls through to policy with bot.verified false", async () => {
  const gate = openGate("unavailable");
  const policy = policyFrom(siteWith("enforce", SPOOFED, "runtime: { fail_mode: allow }"));
  const { decision } = await gate.judge(policy, requestFor({ userAgent: CRAWLER }));
  expect(decision).toMatchObject({ ruleId: "block_spoofed", status: 403 });
});

test("a rule on unavailable decides where verified and refuted would not differ", async () => {
  const rules = `
- id: slow_unproved
  priority: 10
  when: bot.verification == "unavailable"
  action: { type: block, status: 429, reason: come_back }
`;
  const gate = openGate("unavailable");
  const { decision } = await gate.judge(
    policyFrom(siteWith("enforce", rules)),
    requestFor({ userAgent: CRAWLER }),
  );
  expect(decision).toMatchObject({ ruleId: "slow_unproved", status: 429 });
});

test("a shadow rule is noted, and changes nothing", async () => {
  const rules = `
- id: try_block
  priority: 10
  mode: shadow
  when: "true"
  action: { type: block, status: 410, reason: trial }
- id: real
  priority: 20
  when: "true"
  action: { type: block, status: 403, reason: real }
`;
  const gate = openGate("verified");
  await gate.judge(policyFrom(siteWith("enforce", rules)), requestFor());
  expect(gate.events[0]).toMatchObject({
    rule_id: "real",
    status: 403,
    shadowed: [{ rule_id: "try_block", action: "block", status: 410 }],
  });
});

test("a shadow rule's outage never refuses anybody", async () => {
  const rules = `
- id: try_spoofed
  priority: 10
  mode: shadow
  when: bot.claimed && !bot.verified
  action: { type: block, status: 403, reason: spoofed_bot }
`;
  const gate = openGate("unavailable");
  await gate.judge(policyFrom(siteWith("enforce", rules)), requestFor({ userAgent: CRAWLER }));
  expect(gate.events[0]).toMatchObject({
    rule_id: "runtime.default_action",
    status: 200,
    shadowed: [{ rule_id: "try_spoofed", action: "block", status: 403 }],
  });
});

const TEN_A_MINUTE = `
- id: slow
  priority: 10
  when: "true"
  action: { type: rate_limit, limit: { key: request.ip, rpm: 10 } }
`;

test("the 11th request in a minute at 10 rpm is refused, and allowed after Retry-After", async () => {
  const gate = openGate("verified");
  const policy = policyFrom(siteWith("enforce", TEN_A_MINUTE));
  const outcomes = [];
  for (let request = 0; request < 11; request += 1) {
    outcomes.push(await gate.judge(policy, requestFor()));
  }
  expect(outcomes.map((outcome) => outcome.decision.status)).toEqual([...Array(10).fill(200), 429]);
  const limited = outcomes[10]?.decision.rateLimited;
  expect(limited).toEqual({ retryAfterSeconds: 6, burst: 10, rpm: 10 });
  gate.advance(6000);
  const later = await gate.judge(policy, requestFor());
  expect(later.decision).toMatchObject({ status: 200, action: "rate_limit" });
});

test("in shadow the bucket is spent as under enforce, and everybody is served", async () => {
  const gate = openGate("verified");
  const policy = policyFrom(siteWith("observe", TEN_A_MINUTE));
  for (let request = 0; request < 11; request += 1) await gate.judge(policy, requestFor());
  expect(gate.events[10]).toMatchObject({
    action: "rate_limit_exceeded",
    status: 200,
    would_block: true,
    mode: "observe",
  });
});

test("a rule that cannot be evaluated does not match, is named, and hides nothing behind it", async () => {
  const rules = `
- id: faulty
  priority: 10
  when: request.headers["x-depth"] == "1"
  action: { type: allow }
- id: block_all
  priority: 20
  when: "true"
  action: { type: block, status: 403, reason: closed }
`;
  const gate = openGate("verified");
  await gate.judge(policyFrom(siteWith("enforce", rules)), requestFor());
  expect(gate.events[0]).toMatchObject({ rule_id: "block_all" });
  expect(gate.events[0]?.faults.map((fault) => fault.rule_id)).toEqual(["faulty"]);
});

const SEALED = `
- id: sealed_block
  priority: 10
  when: request.path == "/refused"
  action: { type: block, status: 402, reason: pay }
  audit: { receipt: true }
- id: sealed
  priority: 20
  when: request.path == "/sealed"
  action: { type: allow }
  audit: { receipt: true }
`;

const NO_CLAIM = { kind: "settled", verification: "unverifiable" } as const;

test("an allow that asks for a receipt waits for it, and is recorded once, with it", async () => {
  const gate = testGate(NO_CLAIM);
  const judged = gate.judge(
    policyFrom(siteWith("enforce", SEALED)),
    requestFor({ uri: "/sealed" }),
  );
  expect(judged).toBeInstanceOf(Promise);
  const { event } = await judged;
  expect(event).toMatchObject({ receipt_id: "event-1", receipt: "receipt of event-1" });
  expect(gate.events).toEqual([event]);
});

test("a refusal is answered before its receipt is made, and recorded once, with it", async () => {
  const gate = testGate(NO_CLAIM);
  const policy = policyFrom(siteWith("enforce", SEALED));
  const outcome = gate.judge(policy, requestFor({ uri: "/refused" }));
  expect(outcome).not.toBeInstanceOf(Promise);
  expect(gate.events).toEqual([]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(gate.events).toMatchObject([{ status: 402, receipt: "receipt of event-1" }]);
});

test("in shadow what would be refused is served with its receipt", async () => {
  const gate = testGate(NO_CLAIM);
  const policy = policyFrom(siteWith("shadow", SEALED));
  const { event } = await gate.judge(policy, requestFor({ uri: "/refused" }));
  expect(event).toMatchObject({ status: 200, would_block: true, receipt_id: "event-1" });
  expect(gate.events).toEqual([event]);
});

test.each([
  ["no rule asks for a receipt", "", "/other"],
  ["receipts are off", "receipts: { enabled: false }", "/sealed"],
])("where %s nobody waits and none is made", (_, section, uri) => {
  const gate = testGate(NO_CLAIM);
  const policy = policyFrom(siteWith("enforce", SEALED, section));
  expect(gate.judge(policy, requestFor({ uri }))).not.toBeInstanceOf(Promise);
  expect(gate.events).toMatchObject([{ receipt_id: null, receipt: null }]);
});
