import { type CelInput, CelScalar, celEnv, celFunc, isCelError, parse, plan } from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Bot, Verification } from "../../../src/core/bot/bot.ts";
import { type CheckedExpression, checkCondition } from "../../../src/core/cel/check.ts";
import { createEnvironment } from "../../../src/core/cel/environment.ts";
import { inCidr } from "../../../src/core/cel/functions.ts";
import { createEvaluator } from "../../../src/core/policy/evaluate.ts";
import type { Rule, Site } from "../../../src/core/policy/policy.ts";
import type { CrawlRequest } from "../../../src/core/request.ts";
import { createDraw, drawCondition, SETS } from "./expressions.ts";

const SITE: Site = {
  id: "docs",
  hosts: ["docs.example.com"],
  mode: "shadow",
  rateLimitRequired: false,
  caseInsensitivePaths: false,
};
const BOTS: readonly (readonly [Bot, Verification])[] = [
  [bot("unknown", "unknown", true), "unverifiable"],
  [bot("gptbot", "ai_training", false), "verified"],
  [bot("gptbot", "ai_training", false), "refuted"],
  [bot("gptbot", "ai_training", false), "unavailable"],
  [bot("oddbot", "search", false), "unverifiable"],
  [bot("xbot", "search", false), "refuted"],
];
const REQUESTS: readonly { readonly path: string; readonly request: CrawlRequest }[] = [
  request("/archive/a", "203.0.113.7", [
    ["x-a", "/archive"],
    ["x-num", "5"],
  ]),
  request("/", "", []),
  request("/data", "2001:db8::1", [
    ["x-b", "gptbot"],
    ["referer", "a"],
    ["x-a", "true"],
  ]),
  request("/a/b/ä😀", "198.51.100.1", [
    ["a", ""],
    ["x-num", "z"],
  ]),
  request("/archives", "10.0.0.1", [["constructor", "1"]]),
  request("GET", "203.0.113.0", [["x-a", "x-a"]]),
  request("/archive", "::1", [["x-a", "/data"]]),
  request("", "not an address", [
    ["x-num", "1"],
    ["x-b", ""],
  ]),
];

function bot(id: string, kind: string, isDefault: boolean): Bot {
  return {
    id,
    name: `The ${id}`,
    class: kind,
    operator: isDefault ? "" : "Operator",
    match: { userAgents: [], exact: [], anchored: [], mustNot: [] },
    verifiers: id === "gptbot" ? [{ kind: "static_ranges", cidrs: ["203.0.113.0/24"] }] : [],
    robotsToken: id,
    isDefault,
  };
}

function request(path: string, ip: string, headers: readonly (readonly [string, string])[]) {
  const all = new Map(headers);
  const whole: CrawlRequest = {
    method: "GET",
    scheme: "https",
    host: "docs.example.com",
    authority: "docs.example.com",
    target: { rawPath: `${path}%20`, query: all.has("x-b") ? "x-a" : "", readings: [path] },
    address: { ip, limitKey: ip, isPublic: true },
    userAgent: "gptbot/1.0",
    headers: { get: (name) => all.get(name), all: () => all },
    ...(ip.startsWith("203.") ? { byIp: ["gptbot", "a"] } : {}),
  };
  return { path, request: whole };
}

const { BOOL, STRING } = CelScalar;
/** What `header(name)` reads: the reference's functions see their arguments alone. */
let fields: ReadonlyMap<string, string> = new Map();
/** The reference evaluator as its users set it up, with our functions written plainly. */
const REFERENCE = celEnv({
  funcs: [
    ...strings,
    celFunc("pathUnder", [STRING, STRING], BOOL, (path, prefix) => {
      const base = prefix.replace(/\/+$/, "");
      return path === base || path.startsWith(`${base}/`);
    }),
    celFunc("inCidr", [STRING, STRING], BOOL, inCidr),
    celFunc("header", [STRING], STRING, (name) => fields.get(name.toLowerCase()) ?? ""),
  ],
});

type Answer = (claimed: Bot, verification: Verification, at: (typeof REQUESTS)[number]) => string;

function referenceOf(source: string): Answer {
  const run = plan(REFERENCE, parse(source));
  return (claimed, verification, at) => {
    fields = at.request.headers.all();
    const result = run(bindings(claimed, verification, at));
    return isCelError(result) ? `error: ${result.message}` : String(result);
  };
}

function bindings(
  claimed: Bot,
  verification: Verification,
  { path, request: asked }: (typeof REQUESTS)[number],
): Record<string, CelInput> {
  return {
    bot: {
      id: claimed.id,
      name: claimed.name,
      class: claimed.class,
      operator: claimed.operator,
      claimed: !claimed.isDefault,
      verified: verification === "verified",
      verification,
      verifiable: claimed.verifiers.length > 0,
      by_ip: asked.byIp ?? [],
    },
    request: {
      host: asked.host,
      method: asked.method,
      path,
      raw_path: asked.target.rawPath,
      query: asked.target.query,
      scheme: asked.scheme,
      ip: asked.address.ip,
      user_agent: asked.userAgent,
      headers: asked.headers.all(),
    },
    site: { id: SITE.id, host: SITE.hosts[0], mode: SITE.mode },
    labels: { bot_id: claimed.id, host: asked.host, path },
    sets: Object.fromEntries(SETS),
  };
}

// The reference makes an Error, with a stack, of every fault: by far most of the time.
Error.stackTraceLimit = 0;

const ENVIRONMENT = createEnvironment({ sets: SETS });
const DEFAULT_RULE = rule("runtime.default_action", undefined);

function rule(id: string, when: Rule["when"]): Rule {
  return {
    id,
    priority: 1,
    when,
    action: { kind: "allow" },
    mode: "enforce",
    receipt: false,
    tags: [],
  };
}

/** A drawn condition; undefined when it is beyond the limit of steps, which the reference has not. */
function checkDrawn(source: string): CheckedExpression | undefined {
  const checked = checkCondition(source, ENVIRONMENT);
  if (checked.kind === "checked") return checked.expression;
  const messages = checked.faults.map((fault) => fault.message).join("; ");
  if (messages.startsWith("may take ")) return undefined;
  return expect.fail(`${source}: ${messages}`);
}

/** What the compiled rule says of each bot and request, in the words of the reference. */
function compiledOf(expression: CheckedExpression): Answer {
  const evaluator = createEvaluator({
    rules: [rule("it", expression)],
    defaultRule: DEFAULT_RULE,
    bots: BOTS.map(([claimed]) => claimed),
    site: SITE,
    sets: SETS,
  });
  return (claimed, verification, at) => {
    const selection = evaluator.select(claimed, verification, at.request, at.path);
    const [fault] = selection.faults;
    return fault === undefined ? String(selection.rule.id === "it") : `error: ${fault.message}`;
  };
}

function expectSame(source: string): void {
  const expression = checkDrawn(source);
  fc.pre(expression !== undefined);
  const reference = referenceOf(source);
  const compiled = compiledOf(expression);
  for (const [claimed, verification] of BOTS) {
    for (const at of REQUESTS) {
      const wanted = reference(claimed, verification, at);
      const got = compiled(claimed, verification, at);
      if (got !== wanted) {
        const where = `${claimed.id} ${verification} ${at.path}`;
        expect.fail(`${source}\n  at ${where}: ${got}, the reference says ${wanted}`);
      }
    }
  }
}

/** Each run tries 48 pairs of bot and request; CRAWLWALL_EQUIVALENCE_RUNS makes it a long one. */
const RUNS = Number(process.env.CRAWLWALL_EQUIVALENCE_RUNS ?? 2100);

describe("a compiled rule never differs from the reference evaluator", () => {
  test(`on ${RUNS} random conditions`, () => {
    const condition = fc
      .tuple(fc.noShrink(fc.integer()), fc.integer({ min: 1, max: 4 }))
      .map(([seed, depth]) => drawCondition(createDraw(seed), depth));
    fc.assert(fc.property(condition, expectSame), { numRuns: RUNS });
  }, 600_000);
});
