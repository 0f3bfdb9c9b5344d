import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Verification } from "../../../src/core/bot/bot.ts";
import { policyFrom } from "../../support/compile.ts";
import { requestFor, testGate } from "../../support/visits.ts";

const RECIPES = new URL("../../fixtures/policies/good/seed-recipes.yaml", import.meta.url);
const policy = policyFrom(readFileSync(RECIPES, "utf8"));

async function decide(userAgent: string, verification: Verification, uri: string) {
  const visits = testGate({ kind: "settled", verification });
  const { decision } = await visits.judge(policy, requestFor({ uri, userAgent }));
  return decision;
}

describe("the recipes of the policy guide", () => {
  test.each([
    ["GPTBot/1.1", "refuted", "/", "block_spoofed_known_bots", "block", 403],
    ["GPTBot/1.1", "unavailable", "/", "runtime.verifier_error", "block", 503],
    ["Googlebot/2.1", "refuted", "/archive/a", "block_spoofed_known_bots", "block", 403],
    ["Googlebot/2.1", "verified", "/", "allow_verified_search", "allow", 200],
    ["Googlebot/2.1", "verified", "/archive/a", "allow_verified_search", "allow", 200],
    [
      "GPTBot/1.1",
      "verified",
      "/archive/a",
      "meter_training_on_protected_paths",
      "allow_metered",
      200,
    ],
    [
      "ClaudeBot/1.0",
      "verified",
      "/datasets",
      "meter_training_on_protected_paths",
      "allow_metered",
      200,
    ],
    ["GPTBot/1.1", "verified", "/blog", "rate_limit_ai_training_elsewhere", "rate_limit", 200],
    ["curl/8.0", "unverifiable", "/archive/a", "block_unknown_protected_paths", "block", 403],
    ["Mozilla/5.0", "unverifiable", "/", "runtime.default_action", "allow", 200],
  ] as const)("%s, %s, at %s: %s", async (userAgent, verification, uri, ruleId, action, status) => {
    expect(await decide(userAgent, verification, uri)).toMatchObject({ ruleId, action, status });
  });

  test("the metered recipe costs 0.002 USD a request and asks for a receipt", async () => {
    expect(await decide("GPTBot/1.1", "verified", "/archive/a")).toMatchObject({
      price: { amount: "0.002", currency: "USD", unit: "request" },
      receipt: true,
      tags: ["ai_training", "metered"],
    });
  });

  test("the limited recipe lets 120 through at once, and not the one after", async () => {
    const visits = testGate({ kind: "settled", verification: "verified" });
    const request = requestFor({ uri: "/blog", userAgent: "GPTBot/1.1" });
    const statuses: number[] = [];
    for (let count = 0; count < 121; count++) {
      statuses.push((await visits.judge(policy, request)).decision.status);
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(120);
    expect(statuses.at(-1)).toBe(429);
  });

  test("reasons are those of the guide", async () => {
    expect((await decide("GPTBot/1.1", "refuted", "/")).reason).toBe("spoofed_bot");
    expect((await decide("curl/8.0", "unverifiable", "/archive/a")).reason).toBe(
      "unknown_crawler_protected_path",
    );
  });
});
