import { describe, expect, test } from "vitest";
import type { Bot, Verification } from "../../../src/core/bot/bot.ts";
import { checkCondition } from "../../../src/core/cel/check.ts";
import { createEnvironment } from "../../../src/core/cel/environment.ts";
import { createEvaluator } from "../../../src/core/policy/evaluate.ts";
import type { Action, Rule, Sets, Site } from "../../../src/core/policy/policy.ts";
import type { CrawlRequest } from "../../../src/core/request.ts";

const SITE: Site = {
  id: "docs",
  hosts: ["docs.example.com", "*.example.com"],
  mode: "enforce",
  rateLimitRequired: false,
  caseInsensitivePaths: false,
};
const SETS: Sets = new Map<string, readonly string[] | readonly bigint[]>([
  ["protected_paths", ["/archive", "/datasets"]],
  ["ports", [80n, 443n]],
]);
const ALLOW: Action = { kind: "allow" };
const BLOCK: Action = {
  kind: "block",
  status: 403,
  reason: "no",
  price: undefined,
  terms: undefined,
};
const NOBODY = { userAgents: [], exact: [], anchored: [], mustNot: [] };
const UNKNOWN = bot({ id: "unknown", class: "unknown", isDefault: true, verifiers: [] });
const GPTBOT = bot({ id: "gptbot", class: "ai_training" });
const ODDBOT = bot({ id: "oddbot", class: "seo", verifiers: [] });

function bot(fields: Partial<Bot>): Bot {
  return {
    id: "bot",
    name: "A bot",
    class: "search",
    operator: "",
    match: NOBODY,
    verifiers: [{ kind: "static_ranges", cidrs: ["203.0.113.0/24"] }],
    robotsToken: "bot",
    isDefault: false,
    ...fields,
  };
}

function request(fields: Partial<CrawlRequest> = {}, headers: [string, string][] = []) {
  const all = new Map(headers);
  const whole: CrawlRequest = {
    method: "GET",
    scheme: "https",
    host: "www.example.com",
    authority: "www.example.com",
    target: { rawPath: "/raw%20path", query: "a=1", readings: ["/canonical"] },
    address: { ip: "203.0.113.7", limitKey: "203.0.113.7", isPublic: true },
    userAgent: "Agent/1.0",
    headers: { get: (name) => all.get(name), all: () => all },
    ...fields,
  };
  return whole;
}

function rule(id: string, when: string | undefined, fields: Partial<Rule> = {}): Rule {
  return {
    id,
    priority: 1,
    when: when === undefined ? undefined : checked(when),
    action: BLOCK,
    mode: "enforce",
    receipt: false,
    tags: [],
    ...fields,
  };
}

function checked(source: string) {
  const result = checkCondition(source, createEnvironment({ sets: SETS }));
  if (result.kind === "faulty") throw new Error(result.faults.map((it) => it.message).join());
  return result.expression;
}

const DEFAULT_RULE = rule("runtime.default_action", undefined, {
  priority: undefined,
  action: ALLOW,
});

function evaluator(rules: readonly Rule[]) {
  return createEvaluator({
    rules,
    defaultRule: DEFAULT_RULE,
    bots: [GPTBOT, ODDBOT, UNKNOWN],
    site: SITE,
    sets: SETS,
  });
}

function select(
  rules: readonly Rule[],
  of: { bot?: Bot; verification?: Verification; request?: CrawlRequest; path?: string } = {},
) {
  return evaluator(rules).select(
    of.bot ?? UNKNOWN,
    of.verification ?? "unverifiable",
    of.request ?? request(),
    of.path ?? "/archive/a",
  );
}

describe("which rule is chosen", () => {
  test("the first that matches, in the order given", () => {
    const rules = [rule("no", "false"), rule("first", "true"), rule("second", "true")];
    expect(select(rules).rule.id).toBe("first");
  });

  test("the default action when none matches", () => {
    expect(select([rule("no", "false")])).toEqual({
      rule: DEFAULT_RULE,
      shadowed: [],
      faults: [],
    });
  });

  test("a shadow rule that matches is noted, and the rules behind it still run", () => {
    const shadow = rule("shadow", "true", { mode: "shadow" });
    const after = rule("after", "true", { mode: "shadow" });
    const selection = select([shadow, rule("no", "false"), rule("real", "true"), after]);
    expect(selection.rule.id).toBe("real");
    expect(selection.shadowed.map((it) => it.id)).toEqual(["shadow"]);
  });

  test("a rule that cannot be evaluated does not match, is listed, and hides nothing", () => {
    const rules = [
      rule("absent", 'request.headers["x-absent"] == "z"'),
      rule("negated", '!(int(request.headers["x-depth"]) > 3)'),
      rule("real", "true"),
    ];
    const selection = select(rules, { request: request({}, [["x-depth", "z"]]) });
    expect(selection.rule.id).toBe("real");
    expect(selection.faults).toEqual([
      { ruleId: "absent", message: "field not found: x-absent" },
      { ruleId: "negated", message: "Cannot convert z to a BigInt" },
    ]);
  });

  test("a plain selection is made once, not for each request", () => {
    const made = evaluator([rule("real", "true")]);
    const choose = () => made.select(UNKNOWN, "unverifiable", request(), "/a");
    expect(choose()).toBe(choose());
  });
});

describe("what a condition sees of a spoofer, a crawler and a person", () => {
  test.each<[string, Bot, Verification, boolean]>([
    ["bot.claimed && !bot.verified", GPTBOT, "refuted", true],
    ["bot.claimed && !bot.verified", GPTBOT, "verified", false],
    ["bot.claimed && !bot.verified", ODDBOT, "unverifiable", true],
    ["bot.claimed && bot.verifiable && !bot.verified", ODDBOT, "unverifiable", false],
    ["bot.claimed", UNKNOWN, "unverifiable", false],
    ["bot.verifiable", UNKNOWN, "unverifiable", false],
    ['bot.verification == "unavailable"', GPTBOT, "unavailable", true],
    ['bot.id == "gptbot" && bot.name == "A bot" && bot.operator == ""', GPTBOT, "verified", true],
    ['labels.bot_id == "gptbot" && bot.class == "ai_training"', GPTBOT, "verified", true],
  ])("%s for %o, %s: %s", (when, claimed, verification, matches) => {
    const selection = select([rule("it", when)], { bot: claimed, verification });
    expect(selection.rule.id === "it").toBe(matches);
  });
});

describe("what a condition sees of a request", () => {
  test.each([
    'request.path == "/archive/a" && labels.path == "/archive/a"',
    'request.raw_path == "/raw%20path" && request.query == "a=1"',
    'request.host == "www.example.com" && labels.host == "www.example.com"',
    'request.method == "GET" && request.scheme == "https"',
    'request.ip == "203.0.113.7" && request.user_agent == "Agent/1.0"',
    'site.id == "docs" && site.host == "docs.example.com" && site.mode == "enforce"',
    "sets.protected_paths.exists(p, request.path.startsWith(p)) && 443 in sets.ports",
    'request.headers["x-a"] == "1" && header("X-A") == "1" && header("absent") == ""',
    'has(request.headers.constructor) == false && !("__proto__" in request.headers)',
    'pathUnder(request.path, "/archive") && inCidr(request.ip, "203.0.113.0/24")',
  ])("%s", (when) => {
    const seen = request({}, [["x-a", "1"]]);
    expect(select([rule("it", when)], { request: seen }).rule.id).toBe("it");
  });
});
