import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rulesFor } from "../../../src/core/robots/agent.ts";
import { type DelayAgent, resolveCrawlDelay } from "../../../src/core/robots/crawl-delay.ts";
import { decodeRobots } from "../../../src/core/robots/decode.ts";
import { createPathMatcher } from "../../../src/core/robots/match.ts";
import { parseRobots } from "../../../src/core/robots/parse.ts";

const everybody: DelayAgent = { names: ["*"], fallback: "rfc9309" };

function groupsOf(text: string): readonly (readonly [readonly string[], readonly string[]])[] {
  return parseRobots(text).groups.map((group) => [
    group.agents.map((agent) => agent.value),
    group.rules.map((rule) => `${rule.kind} ${rule.pattern}`),
  ]);
}

function isAllowed(text: string, names: readonly string[], path: string): boolean {
  return createPathMatcher(rulesFor(parseRobots(text), names))(path).allowed;
}

describe("grouping (RFC 9309 sections 2.1 and 2.2.4), as the reference parser's tests have it", () => {
  test.each<readonly [string, string, ReturnType<typeof groupsOf>]>([
    ["one group", "user-agent: a\ndisallow: /x\n", [[["a"], ["disallow /x"]]]],
    [
      "a User-agent line after a rule starts a group",
      "user-agent: a\ndisallow: /x\nuser-agent: b\nallow: /y\n",
      [
        [["a"], ["disallow /x"]],
        [["b"], ["allow /y"]],
      ],
    ],
    [
      "blank lines end nothing",
      "user-agent: a\n\ndisallow: /x\n\n\nallow: /w\n\nuser-agent: b\n\nuser-agent: c\nallow: /\n",
      [
        [["a"], ["disallow /x", "allow /w"]],
        [["b", "c"], ["allow /"]],
      ],
    ],
    [
      "Sitemap ends nothing",
      "user-agent: a\nSitemap: https://h/s.xml\nuser-agent: b\ndisallow: /\n",
      [[["a", "b"], ["disallow /"]]],
    ],
    [
      "an unknown line ends nothing",
      "user-agent: a\nInvalid-Unknown-Line: unknown\nuser-agent: b\ndisallow: /\n",
      [[["a", "b"], ["disallow /"]]],
    ],
    [
      "Crawl-delay ends nothing",
      "user-agent: a\ncrawl-delay: 5\nuser-agent: b\ndisallow: /\n",
      [[["a", "b"], ["disallow /"]]],
    ],
    [
      "an empty Disallow is a rule",
      "user-agent: a\ndisallow:\nuser-agent: b\ndisallow: /\n",
      [
        [["a"], ["disallow "]],
        [["b"], ["disallow /"]],
      ],
    ],
    [
      "a rule before the first group is nobody's",
      "disallow: /\nuser-agent: a\nallow: /x\n",
      [[["a"], ["allow /x"]]],
    ],
    ["the last group may be empty", "user-agent: a\n", [[["a"], []]]],
    ["two words need no colon", "user-agent FooBot\ndisallow /\n", [[["FooBot"], ["disallow /"]]]],
    ["three words do", "user-agent: a\ndisallow /x y\n", [[["a"], []]]],
    ["keys in any case", "USER-AGENT: a\nDisAllow: /x\n", [[["a"], ["disallow /x"]]]],
    [
      "spellings that the reference parser knows",
      "useragent: a\ndissallow: /1\ndissalow: /2\ndisalow: /3\ndiasllow: /4\ndisallaw: /5\nallowed: /6\n",
      [
        [
          ["a"],
          ["disallow /1", "disallow /2", "disallow /3", "disallow /4", "disallow /5", "allow /6"],
        ],
      ],
    ],
    ["other keys do nothing", "foo: a\nbar: /\n", []],
    [
      "an agent without name has a group too",
      "user-agent:\ndisallow: /\n",
      [[[""], ["disallow /"]]],
    ],
  ])("%s", (_, text, expected) => {
    expect(groupsOf(text)).toEqual(expected);
  });

  test.each([
    ["LF", "\n", 6],
    ["CR LF", "\r\n", 6],
    ["CR", "\r", 6],
  ])("lines are counted with %s", (_, end, last) => {
    const text = [
      "User-Agent: foo",
      "Allow: /some/path",
      "User-Agent: bar",
      "",
      "",
      "Disallow: /",
    ].join(end);
    for (const whole of [text, text + end]) {
      expect(
        parseRobots(whole).groups.flatMap((group) => group.rules.map((rule) => rule.line)),
      ).toEqual([2, last]);
    }
  });

  test("mixed line ends are counted once each", () => {
    const text = "User-Agent: foo\nAllow: /some/path\r\nUser-Agent: bar\n\r\n\nDisallow: /";
    expect(parseRobots(text).groups[1]?.rules[0]?.line).toBe(6);
  });
});

describe("whom a group speaks to (RFC 9309 section 2.2.1)", () => {
  const two = "user-agent: FooBot\nallow: /\n\nuser-agent: *\ndisallow: /\n";
  test.each<readonly [string, string, readonly string[], string, boolean]>([
    ["the group that names the crawler", two, ["foobot"], "/x", true],
    ["else `*`", two, ["barbot"], "/x", false],
    [
      "groups of one crawler are merged",
      "user-agent: a\nallow: /x\nuser-agent: b\ndisallow: /\nuser-agent: a\ndisallow: /z\n",
      ["a"],
      "/z",
      false,
    ],
    [
      "nothing is inherited from `*`",
      "user-agent: *\ndisallow: /x/page\nuser-agent: FooBot\nallow: /y\n",
      ["FooBot"],
      "/x/page",
      true,
    ],
    [
      "other crawlers' groups leave all allowed",
      "user-agent: FooBot\ndisallow: /\n",
      ["BarBot"],
      "/x",
      true,
    ],
    [
      "two `*` groups are one",
      "user-agent: *\nallow: /a\nuser-agent: b\nallow: /\nuser-agent: *\ndisallow: /x\n",
      ["c"],
      "/x",
      false,
    ],
    ["no agent, no rules", "", ["a"], "/", true],
    [
      "text after the token does not count",
      "user-agent: FOO BAR\nallow: /x\nuser-agent: *\ndisallow: /\n",
      ["foo"],
      "/x",
      true,
    ],
    [
      "the first name that the file knows",
      "user-agent: b\ndisallow: /\nuser-agent: *\nallow: /\n",
      ["a", "b"],
      "/x",
      false,
    ],
    ["an empty name is nobody", "user-agent:\ndisallow: /\n", [""], "/x", true],
    ["`*` alone may be asked for", two, ["*"], "/x", false],
  ])("%s", (_, text, names, path, allowed) => {
    expect(isAllowed(text, names, path)).toBe(allowed);
  });
});

describe("any input (RFC 9309 section 2.3.1.5)", () => {
  const line = fc.oneof(
    fc.constantFrom(
      "User-agent: *",
      "User-agent: a",
      "User-agent: b/1.0",
      "User-agent:",
      "Crawl-delay: 5",
      "Crawl-delay: 10s",
      "crawl delay 7",
      "Crawldelay: 3",
      "Disallow: /",
      "Allow: /x*$",
      "Sitemap: https://h/s.xml",
      "# comment",
      "",
    ),
    fc.string({ unit: "binary", maxLength: 30 }),
  );
  const text = fc
    .array(fc.tuple(line, fc.constantFrom("\n", "\r\n", "\r", "", "\0")), { maxLength: 30 })
    .map((lines) => lines.flat().join(""));
  const runs = Number(process.env.FUZZ_RUNS ?? 2000);

  test("bytes of any kind give an answer", () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      text.map((written) => new Uint8Array(Buffer.from(written))),
      text.map((written) => new Uint8Array(Buffer.from(`\ufeff${written}`, "utf16le"))),
    );
    fc.assert(
      fc.property(bytes, fc.constantFrom(undefined, "utf-16le", "utf-16be"), (body, charset) => {
        const decoded = decodeRobots(body, charset);
        if (decoded.kind !== "text") return;
        const file = parseRobots(decoded.text);
        const { outcome } = resolveCrawlDelay(file, everybody);
        expect(outcome.kind).toMatch(/^(valid|invalid|malformed|orphan|missing)$/);
        if (outcome.kind === "valid") expect(outcome.seconds).toBeGreaterThan(0);
        createPathMatcher(rulesFor(file, ["a"]))("/x?y");
      }),
      { numRuns: runs },
    );
  });

  test("the order of groups changes no verdict", () => {
    const rule = fc.constantFrom("Disallow: /", "Allow: /x", "Disallow:");
    const group = fc
      .tuple(
        fc.array(fc.constantFrom("*", "a", "b", "c/1.0", ""), { minLength: 1, maxLength: 3 }),
        fc.array(fc.constantFrom("1", "2.5", "0", "x", ""), { maxLength: 2 }),
        rule,
      )
      .map(([agents, delays, last]) =>
        [
          ...agents.map((agent) => `User-agent: ${agent}`),
          ...delays.map((delay) => `Crawl-delay: ${delay}`),
          last,
        ].join("\n"),
      );
    const shuffled = fc
      .array(group, { minLength: 1, maxLength: 6 })
      .chain((groups) =>
        fc.tuple(fc.constant(groups), fc.shuffledSubarray(groups, { minLength: groups.length })),
      );
    const names = fc.constantFrom<DelayAgent["names"]>(["*"], ["a"], ["b", "a"], ["c"], ["z"]);
    const fallback = fc.constantFrom<DelayAgent["fallback"]>("rfc9309", "directive");
    fc.assert(
      fc.property(shuffled, names, fallback, ([before, after], agent, mode) => {
        const [first, second] = [before, after].map((groups) => {
          const { outcome } = resolveCrawlDelay(parseRobots(groups.join("\n")), {
            names: agent,
            fallback: mode,
          });
          return [outcome.kind, outcome.kind === "valid" ? outcome.seconds : undefined];
        });
        expect(second).toEqual(first);
      }),
      { numRuns: runs },
    );
  });

  test.each<readonly [string, (lines: number) => string]>([
    ["agents and delays", (lines) => "User-agent: a\nCrawl-delay: 1\n".repeat(lines)],
    [
      "agents, then delays",
      (lines) => "User-agent: a\n".repeat(lines) + "Crawl-delay: 1\n".repeat(lines),
    ],
    [
      "agents, then misspelt delays",
      (lines) => "User-agent: a\n".repeat(lines) + "Crawl delay: 1\n".repeat(lines),
    ],
    [
      "other agents, then delays",
      (lines) => "User-agent: b\n".repeat(lines) + "Crawl-delay: 1\n".repeat(lines),
    ],
    ["words that are nearly a key", (lines) => "crawldlayy: 1\n".repeat(2 * lines)],
    ["line ends", (lines) => "\r".repeat(28 * lines)],
    ["white space", (lines) => `a${" ".repeat(14 * lines)}b${"\t".repeat(14 * lines)}`],
    ["colons", (lines) => ":".repeat(28 * lines)],
  ])("time grows with length: %s", (_, make) => {
    const started = performance.now();
    resolveCrawlDelay(parseRobots(make(18_000)), { names: ["a"], fallback: "directive" });
    // A quadratic reading of these takes minutes.
    expect(performance.now() - started).toBeLessThan(3000);
  });
});
