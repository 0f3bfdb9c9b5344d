import { createRequire } from "node:module";
import fc from "fast-check";
import type { Robot } from "robots-parser";
import { describe, expect, test } from "vitest";
import type { Bot } from "../../../src/core/bot/bot.ts";
import type { Policy } from "../../../src/core/policy/policy.ts";
import { rulesFor } from "../../../src/core/robots/agent.ts";
import { escapePath } from "../../../src/core/robots/escape.ts";
import { generateRobots } from "../../../src/core/robots/generate.ts";
import { createPathMatcher } from "../../../src/core/robots/match.ts";
import type { NoteCode } from "../../../src/core/robots/note.ts";
import { parseRobots } from "../../../src/core/robots/parse.ts";
import { policyFrom } from "../../support/compile.ts";

/*
 * What a crawler reads out of a generated file against what enforcement does to it, for random
 * policies and paths. `ROBOTS_RUNS=4000` makes it long: then over a million comparisons.
 */

const RUNS = Number(process.env.ROBOTS_RUNS ?? 100);
const HOST = "site.test";

// The package's types say that it has a default export, which it has not.
const robotsParser: (url: string, text: string) => Robot = createRequire(import.meta.url)(
  "robots-parser",
);

const BOTS = `
  - { id: alpha, class: search, match: { user_agents: [AlphaBot] }, verify: none }
  - id: beta
    class: ai_training
    match: { user_agents: [BetaBot] }
    verify: { type: static_ranges, cidrs: [20.0.0.0/24] }
`;

const segment = fc.constantFrom(
  "a",
  "ab",
  "b",
  "ba",
  "c.pdf",
  "x y",
  "é",
  "q?",
  "50%",
  "$",
  "a$b",
  "*",
  "#1",
  "A",
);
const path = fc
  .tuple(fc.array(segment, { maxLength: 3 }), fc.constantFrom("", "", "/"))
  .map(([segments, end]) => `/${segments.join("/")}${segments.length === 0 ? "" : end}`);
const text = fc.oneof(path, fc.constantFrom("/", "/a", "/ab", "/a/", "/b", ""));

function cel(value: string): string {
  return JSON.stringify(value);
}

const pathAtom = fc.oneof(
  text.map((t) => `request.path == ${cel(t)}`),
  text.map((t) => `request.path != ${cel(t)}`),
  text.map((t) => `request.path.startsWith(${cel(t)})`),
  path.map((t) => `pathUnder(request.path, ${cel(t)})`),
  fc.array(text, { minLength: 1, maxLength: 3 }).map((ts) => `request.path in [${ts.map(cel)}]`),
  fc.constantFrom("one", "two").map((set) => `sets.${set}.exists(p, request.path.startsWith(p))`),
  fc.constantFrom("one", "two").map((set) => `sets.${set}.all(p, request.path.startsWith(p))`),
  fc.constantFrom("one", "two").map((set) => `sets.${set}.exists_one(p, request.path == p)`),
  fc.constantFrom("one", "two").map((set) => `request.path in sets.${set}`),
  path.map((t) => `sets.one.exists(p, request.path == p + ${cel(t)})`),
);
const botAtom = fc.constantFrom(
  "bot.claimed",
  "bot.verified",
  'bot.id == "beta"',
  'bot.class in ["search"]',
  'bot.verification == "unverifiable"',
);
const otherAtom = fc.constantFrom(
  'request.method == "GET"',
  'request.method == "POST"',
  'request.host == "site.test"',
  'request.headers["x-a"] == "1"',
  'request.query.contains("a")',
);
const globAtom = fc.oneof(
  fc.constantFrom(".pdf", "b", "/a", "a/", "é", "$").map((t) => `request.path.endsWith(${cel(t)})`),
  fc.constantFrom("a/b", "b", "/ab", "x y").map((t) => `request.path.contains(${cel(t)})`),
  fc
    .constantFrom("^/a.*b", "\\.(pdf|zip)$", "^/ab?/", "a[bc]$", "^/a$", "^/[^/]+$")
    .map((t) => `request.path.matches(${cel(t)})`),
);

function conditions(atom: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.letrec<{ tree: string }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 2, withCrossShrink: true },
      atom,
      tie("tree").map((a) => `!(${a})`),
      fc.tuple(tie("tree"), tie("tree")).map(([a, b]) => `(${a} && ${b})`),
      fc.tuple(tie("tree"), tie("tree")).map(([a, b]) => `(${a} || ${b})`),
      fc.tuple(tie("tree"), tie("tree"), tie("tree")).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
    ),
  })).tree;
}

const action = fc.constantFrom(
  "{ type: block, reason: no }",
  "{ type: block, reason: no }",
  "allow",
  "{ type: rate_limit, limit: { key: bot.id, rpm: 20 } }",
);

function policies(condition: fc.Arbitrary<string>): fc.Arbitrary<Policy> {
  const rule = fc.record({
    when: condition,
    action,
    isShadow: fc.constantFrom(false, false, true),
  });
  return fc
    .record({
      rules: fc.array(rule, { minLength: 1, maxLength: 5 }),
      one: fc.array(path, { minLength: 1, maxLength: 3 }),
      two: fc.array(text, { minLength: 1, maxLength: 3 }),
      fallback: fc.constantFrom("allow", "allow", "{ type: block, reason: no }"),
      isCaseless: fc.constantFrom(false, false, true),
    })
    .map(({ rules, one, two, fallback, isCaseless }) => {
      const lines = rules.map(
        ({ when, action: does, isShadow }, index) =>
          `  - { id: r${index}, priority: ${index}, mode: ${isShadow ? "shadow" : "enforce"}, when: ${JSON.stringify(when)}, action: ${does} }`,
      );
      return policyFrom(`
site: { id: site, host: ${HOST}, mode: enforce, case_insensitive_paths: ${isCaseless} }
runtime: { default_action: ${fallback} }
bots: ${BOTS}
sets: { one: ${JSON.stringify(one)}, two: ${JSON.stringify(two)} }
rules:
${lines.join("\n")}
`);
    });
}

/** What robots.txt cannot see of a request. */
interface Unseen {
  readonly query: string;
  readonly header: string | undefined;
}

const UNSEEN: readonly Unseen[] = [
  { query: "", header: undefined },
  { query: "", header: "1" },
  { query: "a=1", header: "2" },
];

/** Whether a crawler's GET is refused. */
function isBlocked(policy: Policy, bot: Bot, target: string, unseen: Unseen): boolean {
  const verification = bot.verifiers.length > 0 ? "verified" : "unverifiable";
  const fields = new Map(unseen.header === undefined ? [] : [["x-a", unseen.header]]);
  const request = {
    method: "GET",
    scheme: "https",
    host: HOST,
    authority: HOST,
    target: { rawPath: escapePath(target), query: unseen.query, readings: [target] },
    address: { ip: "20.0.0.1", limitKey: "20.0.0.1", isPublic: true },
    userAgent: bot.robotsToken,
    headers: { get: (name: string) => fields.get(name), all: () => fields },
  } as const;
  return policy.evaluator.select(bot, verification, request, target).rule.action.kind === "block";
}

const TOKENS = ["AlphaBot", "BetaBot", "SomebodyElse"];

/** Verdicts of a file that were compared with enforcement. */
let comparisons = 0;

/** Every crawler and URL on which the file and enforcement are `wrong` together. */
function find(
  policy: Policy,
  targets: readonly string[],
  wrong: (isBlockedBy: (unseen: Unseen) => boolean, isDisallowed: boolean) => boolean,
): readonly string[] {
  const { body } = generateRobots(policy, HOST);
  const file = parseRobots(body);
  const peer = robotsParser(`https://${HOST}/robots.txt`, body);
  return TOKENS.flatMap((token) => {
    const bot = policy.identify(token);
    const own = createPathMatcher(rulesFor(file, [token]));
    // Where case does not count, a file speaks of lower case, as a note on it says.
    const { caseInsensitivePaths } = policy.site;
    const spoken = targets.filter(
      (target) => !caseInsensitivePaths || target === target.toLowerCase(),
    );
    return spoken.flatMap((target) => {
      const isBlockedBy = (unseen: Unseen): boolean => isBlocked(policy, bot, target, unseen);
      return [escapePath(target), `${escapePath(target)}?q=1`].flatMap((url) => {
        const isPeerDisallowed = peer.isDisallowed(`https://${HOST}${url}`, token) === true;
        const verdicts = [!own(url).allowed, isPeerDisallowed];
        comparisons += verdicts.length;
        return verdicts.some((verdict) => wrong(isBlockedBy, verdict))
          ? [`${token} ${url}: own, peer ${verdicts.join()}\n${body}`]
          : [];
      });
    });
  });
}

/** Where they differ at all. */
function differences(policy: Policy, targets: readonly string[]): readonly string[] {
  const [plain] = UNSEEN;
  if (plain === undefined) throw new Error("a request");
  return find(policy, targets, (isBlockedBy, isDisallowed) => isBlockedBy(plain) !== isDisallowed);
}

/** Where the file forbids what may be served. */
function falseClaims(policy: Policy, targets: readonly string[]): readonly string[] {
  return find(
    policy,
    targets,
    (isBlockedBy, isDisallowed) => isDisallowed && !UNSEEN.every(isBlockedBy),
  );
}

function hasNote(policy: Policy, codes: readonly NoteCode[]): boolean {
  return generateRobots(policy, HOST).notes.some(({ code }) => codes.includes(code));
}

const paths = fc.array(path, { minLength: 4, maxLength: 12 });

describe("a generated file", () => {
  test("says what enforcement does, wherever rules look at paths, bots, host and method", () => {
    const exact = conditions(fc.oneof(pathAtom, pathAtom, botAtom));
    fc.assert(
      fc.property(policies(exact), paths, (policy, targets) => {
        expect(differences(policy, targets)).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  test("forbids nothing that some header or query may open, and tells what it leaves out", () => {
    const any = conditions(fc.oneof(pathAtom, botAtom, otherAtom));
    fc.assert(
      fc.property(policies(any), paths, (policy, targets) => {
        expect(falseClaims(policy, targets)).toEqual([]);
        if (!hasNote(policy, ["unseen_input"])) expect(differences(policy, targets)).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  test("tells where it falls short of rules that look for texts within paths", () => {
    const any = conditions(fc.oneof(pathAtom, globAtom, botAtom));
    const codes: readonly NoteCode[] = ["approximated", "not_fully_expressed", "no_pattern"];
    fc.assert(
      fc.property(policies(any), paths, (policy, targets) => {
        if (!hasNote(policy, codes)) expect(differences(policy, targets)).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  test.runIf(RUNS >= 4000)("was compared over a million times", () => {
    process.stdout.write(`${comparisons} comparisons of ${RUNS} policies a test\n`);
    expect(comparisons).toBeGreaterThan(1_000_000);
  });
});
