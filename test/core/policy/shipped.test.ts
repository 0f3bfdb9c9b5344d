import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Verification } from "../../../src/core/bot/bot.ts";
import type { Policy } from "../../../src/core/policy/policy.ts";
import { policyFrom } from "../../support/compile.ts";
import { requestFor, testGate } from "../../support/visits.ts";

const ROOT = new URL("../../../", import.meta.url);
const shipped = policyFrom(readFileSync(new URL("policies/default.yaml", ROOT), "utf8"));
const demo = policyFrom(readFileSync(new URL("examples/demo/crawlwall.yaml", ROOT), "utf8"));

async function decide(policy: Policy, userAgent: string, verification: Verification, uri: string) {
  const visits = testGate({ kind: "settled", verification });
  const { decision } = await visits.judge(policy, requestFor({ uri, userAgent }));
  return decision;
}

describe("the policy that runs when no other is given", () => {
  test("refuses nobody, on any host", async () => {
    expect(shipped.site).toMatchObject({ mode: "shadow", hosts: ["*"] });
    const decision = await decide(shipped, "GPTBot/1.4", "refuted", "/");
    expect(decision).toMatchObject({ enforced: false, ruleId: "block_spoofed_known_bots" });
  });

  test.each([
    ["Bytespider", "unverifiable", "/", "runtime.default_action"],
    ["GPTBot/1.4", "unverifiable", "/", "block_spoofed_known_bots"],
    ["GPTBot/1.4", "unavailable", "/", "runtime.verifier_error"],
    ["GPTBot/1.4", "verified", "/archive/a", "meter_training_on_protected_paths"],
    ["CCBot/2.0", "verified", "/", "rate_limit_ai_training_elsewhere"],
    ["Mozilla/5.0 (compatible; bingbot/2.0)", "verified", "/archive/a", "allow_verified_search"],
    ["ChatGPT-User/2.0", "verified", "/archive/a", "runtime.default_action"],
    ["curl/8.0", "unverifiable", "/datasets", "block_unknown_protected_paths"],
    ["curl/8.0", "unverifiable", "/", "runtime.default_action"],
  ] as const)("%s, %s, at %s: %s", async (userAgent, verification, uri, ruleId) => {
    expect((await decide(shipped, userAgent, verification, uri)).ruleId).toBe(ruleId);
  });
});

describe("the policy of the demo", () => {
  test.each([
    ["curl/8.0", "unverifiable", "/", "allow", 200],
    ["GPTBot/1.1", "unverifiable", "/", "block", 403],
    ["demobot/1.0", "verified", "/archive/a", "allow", 200],
    ["demobot/1.0", "unverifiable", "/", "block", 403],
    ["curl/8.0", "unverifiable", "/archive/a", "block", 403],
    ["curl/8.0", "unverifiable", "/archives", "allow", 200],
    ["curl/8.0", "unverifiable", "/search?q=a", "rate_limit", 200],
  ] as const)("%s, %s, at %s: %s", async (userAgent, verification, uri, action, status) => {
    const decision = await decide(demo, userAgent, verification, uri);
    expect(decision).toMatchObject({ enforced: true, action, status });
  });

  test("lets ten searches a minute through", async () => {
    const visits = testGate({ kind: "settled", verification: "unverifiable" });
    const request = requestFor({ uri: "/search", userAgent: "curl/8.0" });
    const statuses: number[] = [];
    for (let count = 0; count < 11; count++) {
      statuses.push((await visits.judge(demo, request)).decision.status);
    }
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), 429]);
  });
});
