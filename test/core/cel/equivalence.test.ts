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
import { createDraw, drawCondition, drawPathCondition, SETS } from "./expressions.ts";

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

function rule(id: string, when: Rule["when"], mode: Rule["mode"] = "enforce"): Rule {
  return {
    id,
    priority: 1,
    when,
    action: { kind: "allow" },
    mode,
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

function evaluatorOf(rules: readonly Rule[]) {
  const bots = BOTS.map(([claimed]) => claimed);
  return createEvaluator({ rules, defaultRule: DEFAULT_RULE, bots, site: SITE, sets: SETS });
}

/** What the compiled rule says of each bot and request, in the words of the reference. */
function compiledOf(expression: CheckedExpression): Answer {
  const evaluator = evaluatorOf([rule("it", expression)]);
  return (claimed, verification, at) => {
    const selection = evaluator.select(claimed, verification, at.request, at.path);
    const [fault] = selection.faults;
    return fault === undefined ? String(selection.rule.id === "it") : `error: ${fault.message}`;
  };
}

function expectSame(source: string): void {
  const expression = checkDrawn(source);
  fc.pre(expression !== undefined);
  expectSameAnswers(source, compiledOf(expression), referenceOf(source));
}

function expectSameAnswers(source: string, compiled: Answer, reference: Answer): void {
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

/** A condition of a policy, and whether its rule only watches. */
type Written = readonly [source: string, mode: Rule["mode"]];

/** What the rules as written come to, by trying one after the other: the selection in words. */
function tryInOrder(written: readonly Written[]): Answer {
  const references = written.map(([source]) => referenceOf(source));
  return (claimed, verification, at) => {
    const notes: string[] = [];
    for (const [index, reference] of references.entries()) {
      const answer = reference(claimed, verification, at);
      const isShadow = written[index]?.[1] === "shadow";
      if (answer === "true" && !isShadow) return [...notes.toSorted(), `rule ${index}`].join(", ");
      if (answer === "true") notes.push(`shadow ${index}`);
      if (answer.startsWith("error: ")) notes.push(`${answer} in ${index}`);
    }
    return [...notes.toSorted(), "no rule"].join(", ");
  };
}

function selectionOf(written: readonly Written[]): Answer {
  const rules = written.map(([source, mode], index) => {
    const expression = checkDrawn(source);
    fc.pre(expression !== undefined);
    return rule(String(index), expression, mode);
  });
  const evaluator = evaluatorOf(rules);
  return (claimed, verification, at) => {
    const selection = evaluator.select(claimed, verification, at.request, at.path);
    const notes = [
      ...selection.shadowed.map(({ id }) => `shadow ${id}`),
      ...selection.faults.map(({ ruleId, message }) => `error: ${message} in ${ruleId}`),
    ];
    const { id } = selection.rule;
    const decided = selection.rule === DEFAULT_RULE ? "no rule" : `rule ${id}`;
    return [...notes.toSorted(), decided].join(", ");
  };
}

/** Rules about paths stand in a row in most policies, and are then found by one look-up. */
function drawPolicy(seed: number, size: number): readonly Written[] {
  const draw = createDraw(seed);
  return Array.from({ length: size }, () => {
    const source = draw(3) === 0 ? drawCondition(draw, 2) : drawPathCondition(draw);
    return [source, draw(6) === 0 ? "shadow" : "enforce"] as const;
  });
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

  test("nor does a policy of several rules, some of them in shadow", () => {
    const policy = fc
      .tuple(fc.noShrink(fc.integer()), fc.integer({ min: 1, max: 9 }))
      .map(([seed, size]) => drawPolicy(seed, size));
    const property = fc.property(policy, (written) => {
      const source = written.map(([condition, mode]) => `${mode}: ${condition}`).join("\n");
      expectSameAnswers(source, selectionOf(written), tryInOrder(written));
    });
    fc.assert(property, { numRuns: RUNS / 10 });
  }, 600_000);
});
