import type { Bot } from "../../src/core/bot/bot.ts";
import { checkCondition } from "../../src/core/cel/check.ts";
import { createEnvironment } from "../../src/core/cel/environment.ts";
import { createEvaluator, type RuleEvaluator } from "../../src/core/policy/evaluate.ts";
import type { Rule, Sets, Site } from "../../src/core/policy/policy.ts";
import type { CrawlRequest } from "../../src/core/request.ts";

/** The site that all measured policies are for. */
export const SITE: Site = {
  id: "docs",
  hosts: ["docs.example.com"],
  mode: "enforce",
  rateLimitRequired: false,
  caseInsensitivePaths: false,
};

export const SETS: Sets = new Map([["protected_paths", ["/archive", "/datasets", "/api/bulk"]]]);

/** The recipes of the policy guide. */
const GUIDE: readonly string[] = [
  "bot.claimed && !bot.verified",
  'bot.verified && bot.class == "search"',
  'bot.verified && bot.class == "ai_training" && sets.protected_paths.exists(p, request.path.startsWith(p))',
  'bot.verified && bot.class == "ai_training"',
  'bot.class == "unknown" && sets.protected_paths.exists(p, request.path.startsWith(p))',
];

/** So many conditions about crawlers: the guide's recipes come last. */
export function conditionsAboutBots(count: number): readonly string[] {
  const shapes = [
    (index: number) => `bot.id == "bot${index % 300}" && request.path.startsWith("/area${index}")`,
    (index: number) => `bot.verified && bot.class == "class${index}"`,
    (index: number) => `bot.claimed && !bot.verified && bot.operator == "Operator ${index}"`,
    (index: number) =>
      `bot.verification == "verified" && bot.id in ["bot${index % 300}", "bot${(index + 7) % 300}"]`,
  ];
  const made = Array.from({ length: count - GUIDE.length }, (_, index) =>
    shapes[index % shapes.length]?.(index),
  );
  return [...made.filter((condition) => condition !== undefined), ...GUIDE];
}

/** So many conditions about paths, which concern a person as well. */
export function conditionsAboutPaths(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `request.path.startsWith("/area${index}/")`);
}

/** The default bot, and so many crawlers. */
export function makeBots(count: number): readonly [Bot, ...Bot[]] {
  const crawlers = Array.from({ length: count }, (_, index) => makeBot(index));
  return [{ ...makeBot(0), id: "unknown", class: "unknown", isDefault: true }, ...crawlers];
}

function makeBot(index: number): Bot {
  return {
    id: `bot${index}`,
    name: `Bot ${index}`,
    class: ["search", "ai_training", "seo"][index % 3] ?? "",
    operator: `Operator ${index}`,
    match: { userAgents: [`Bot${index}`], exact: [], anchored: [], mustNot: [] },
    verifiers: [{ kind: "static_ranges", cidrs: ["203.0.113.0/24"] }],
    robotsToken: `Bot${index}`,
    isDefault: false,
  };
}

/** Checked rules from conditions. */
export function makeRules(conditions: readonly string[]): readonly Rule[] {
  const environment = createEnvironment({ sets: SETS });
  return conditions.map((source, index): Rule => {
    const result = checkCondition(source, environment);
    if (result.kind === "faulty") throw new Error(`${source}: ${result.faults[0]?.message}`);
    return { ...ALLOW, id: `rule${index}`, priority: index, when: result.expression };
  });
}

const ALLOW: Rule = {
  id: "runtime.default_action",
  priority: undefined,
  when: undefined,
  action: { kind: "allow" },
  mode: "enforce",
  receipt: false,
  tags: [],
};

/** The evaluator that serves. */
export function makeEvaluator(rules: readonly Rule[], bots: readonly Bot[]): RuleEvaluator {
  return createEvaluator({ rules, defaultRule: ALLOW, bots, site: SITE, sets: SETS });
}

/** Requests of people, none of which a rule of {@link conditionsAboutBots} decides. */
export const REQUESTS: readonly CrawlRequest[] = Array.from({ length: 64 }, (_, index) => {
  const headers = new Map([["accept", "text/html"]]);
  const path = `/docs/${"chapter/".repeat(index % 4)}page-${index}`;
  return {
    method: "GET",
    scheme: "https",
    host: "docs.example.com",
    authority: "docs.example.com",
    target: { rawPath: path, query: "", readings: [path] },
    address: { ip: "198.51.100.7", limitKey: "198.51.100.7", isPublic: true },
    userAgent: "Mozilla/5.0",
    headers: { get: (name) => headers.get(name), all: () => headers },
  };
});
