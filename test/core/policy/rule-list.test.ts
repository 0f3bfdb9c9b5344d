import { describe, expect, test } from "vitest";
import type { Bot, BotVerifier, Verification } from "../../../src/core/bot/bot.ts";
import { checkCondition } from "../../../src/core/cel/check.ts";
import { createEnvironment } from "../../../src/core/cel/environment.ts";
import { createEvaluator } from "../../../src/core/policy/evaluate.ts";
import type { Rule, Sets, Site } from "../../../src/core/policy/policy.ts";
import { reachableVerifications } from "../../../src/core/policy/rule-list.ts";

const SITE: Site = {
  id: "docs",
  hosts: ["docs.example.com"],
  mode: "enforce",
  rateLimitRequired: false,
  caseInsensitivePaths: false,
};
const SETS: Sets = new Map([
  ["paths", ["/archive", "/datasets", "/a", "/b", "/c", "/d"]],
  ["trainers", ["gptbot", "claudebot"]],
]);
const RANGES: BotVerifier = { kind: "static_ranges", cidrs: ["203.0.113.0/24"] };
const PERSON = bot("unknown", { isDefault: true, verifiers: [], class: "unknown" });
const GPTBOT = bot("gptbot", { class: "ai_training" });
const ODDBOT = bot("oddbot", { verifiers: [] });

function bot(id: string, fields: Partial<Bot> = {}): Bot {
  return {
    id,
    name: id,
    class: "search",
    operator: "",
    match: { userAgents: [], exact: [], anchored: [], mustNot: [] },
    verifiers: [RANGES],
    robotsToken: id,
    isDefault: false,
    ...fields,
  };
}

function rule(id: string, when: string | undefined, mode: Rule["mode"] = "enforce"): Rule {
  const action = { kind: "allow" } as const;
  const condition = when === undefined ? undefined : checked(when);
  return { id, priority: 1, when: condition, action, mode, receipt: false, tags: [] };
}

function checked(source: string) {
  const result = checkCondition(source, createEnvironment({ sets: SETS }));
  if (result.kind === "faulty") throw new Error(result.faults[0]?.message);
  return result.expression;
}

function evaluatorOf(...rules: readonly Rule[]) {
  const bots = [GPTBOT, ODDBOT, PERSON];
  const defaultRule = rule("runtime.default_action", undefined);
  return createEvaluator({ rules, defaultRule, bots, site: SITE, sets: SETS });
}

function listed(rules: readonly Rule[], claimed: Bot, verification: Verification) {
  return evaluatorOf(...rules)
    .listFor(claimed, verification)
    .rules.map(({ rule: { id } }) => id);
}

describe("a crawler's list holds only what can still match", () => {
  const rules = [
    rule("spoofer", "bot.claimed && !bot.verified"),
    rule("trainers", "sets.trainers.exists(t, bot.id == t) && request.path.startsWith('/archive')"),
    rule("in", "bot.id in sets.trainers && header('x') == ''"),
    rule("named", "bot.id.startsWith('gpt') ? request.query == '' : false"),
    rule("mode", "site.mode == 'shadow' || bot.class == 'seo'"),
    rule("unavailable", "bot.verification == 'unavailable' && request.path == '/'"),
    rule("person", "!bot.claimed && request.path == '/login'"),
  ];

  test.each<[Bot, Verification, readonly string[]]>([
    [PERSON, "unverifiable", ["person"]],
    [GPTBOT, "verified", ["trainers", "in", "named"]],
    [GPTBOT, "refuted", ["spoofer"]],
    [ODDBOT, "unverifiable", ["spoofer"]],
  ])("%o, %s", (claimed, verification, ids) => {
    expect(listed(rules, claimed, verification)).toEqual(ids);
  });
});

test("bots that the rules treat alike have one list", () => {
  const evaluator = evaluatorOf(
    rule("verified", "bot.verified && request.path == '/'"),
    rule("named", "bot.id == 'gptbot' && request.path == '/'"),
  );
  const listOf = (id: string, verification: Verification) =>
    evaluator.listFor(bot(id), verification);
  expect(listOf("one", "verified")).toBe(listOf("two", "verified"));
  expect(listOf("one", "verified")).not.toBe(listOf("one", "refuted"));
  expect(listOf("one", "verified")).not.toBe(listOf("gptbot", "verified"));
});

test("a rule that is surely true ends the list, a shadow rule does not", () => {
  const rules = [
    rule("watch", "bot.claimed", "shadow"),
    rule("all", "bot.claimed || request.path == '/'"),
    rule("behind", "true"),
  ];
  expect(listed(rules, GPTBOT, "verified")).toEqual(["watch", "all"]);
  expect(listed(rules, PERSON, "unverifiable")).toEqual(["all", "behind"]);
});

test("an error that could be false stays, an error that cannot is told for every request", () => {
  const rules = [
    rule("absorbed", "request.headers.a == '' && bot.verified"),
    rule("certain", "[1][5] == bot.id.size() && request.path == '/'"),
  ];
  expect(listed(rules, GPTBOT, "refuted")).toEqual(["certain"]);
});

describe("rules about paths are found by one look-up, in their order", () => {
  const rules = [
    rule("deep", "request.path.startsWith('/a/b/')"),
    rule("exact", "request.path == '/a/b/c' || request.path == '/z'"),
    rule("segment", "pathUnder(request.path, '/a')"),
    rule("set", "sets.paths.exists(p, pathUnder(request.path, p))"),
    rule("rest", "request.path.startsWith('/')"),
  ];
  test.each([
    ["/a/b/c", "deep"],
    ["/z", "exact"],
    ["/a", "segment"],
    ["/a/x", "segment"],
    ["/ab", "rest"],
    ["/d/e", "set"],
    ["*", "runtime.default_action"],
  ])("%s: %s", (path, id) => {
    const request = {
      method: "GET",
      scheme: "https",
      host: "docs.example.com",
      authority: "docs.example.com",
      target: { rawPath: path, query: "", readings: [path] },
      address: { ip: "", limitKey: "", isPublic: false },
      userAgent: "",
      headers: { get: () => undefined, all: () => new Map() },
    } as const;
    const { select } = evaluatorOf(...rules);
    expect(select(PERSON, "unverifiable", request, path).rule.id).toBe(id);
  });
});

test("the report counts lists, and names rules that the reference evaluator must help with", () => {
  const evaluator = evaluatorOf(
    rule("plain", "request.path == '/'"),
    rule("map", "{request.path: 1}.size() == 1 && bot.verified"),
    rule("constant", "request.method in {'GET': true}"),
  );
  expect(evaluator.prepare()).toEqual({
    lists: 5,
    shortest: 2,
    longest: 3,
    reference: [{ ruleId: "map", reason: "a map literal" }],
  });
});

describe("the outcomes that a bot's verification can have", () => {
  test.each<[string, Partial<Bot>, readonly Verification[]]>([
    ["nobody in particular", { isDefault: true }, ["unverifiable"]],
    ["a bot without verifier", { verifiers: [] }, ["unverifiable"]],
    ["static ranges", {}, ["verified", "refuted", "unverifiable"]],
    [
      "reverse DNS",
      { verifiers: [RANGES, { kind: "reverse_dns", allowedSuffixes: [".example.com"] }] },
      ["verified", "refuted", "unverifiable", "unavailable"],
    ],
  ])("%s", (_name, fields, outcomes) => {
    expect(reachableVerifications(bot("it", fields))).toEqual(outcomes);
  });
});
