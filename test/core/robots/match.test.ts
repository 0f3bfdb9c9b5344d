import { createRequire } from "node:module";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rulesFor } from "../../../src/core/robots/agent.ts";
import { createPathMatcher, type PatternReading } from "../../../src/core/robots/match.ts";
import { parseRobots } from "../../../src/core/robots/parse.ts";

const require = createRequire(import.meta.url);
// Its types say that it is an ES module, which it is not.
const robotsParser: (
  url: string,
  text: string,
) => { isAllowed(url: string, agent: string): boolean | undefined } = require("robots-parser");

function isAllowed(text: string, agent: string, path: string, reading?: PatternReading): boolean {
  return createPathMatcher(rulesFor(parseRobots(text), [agent]), reading)(path).allowed;
}

/** Whether one pattern, disallowed, matches a path. */
function isMatch(pattern: string, path: string, reading?: PatternReading): boolean {
  return !isAllowed(`user-agent: *\ndisallow: ${pattern}\n`, "a", path, reading);
}

describe("which pattern matches which path", () => {
  test.each<readonly [string, readonly string[], readonly string[]]>([
    // RFC 9309 section 2.2.2: from the first octet, with case.
    [
      "/fish",
      ["/fish", "/fish.html", "/fish/salmon.html", "/fishheads", "/fish.php?id=1"],
      ["/Fish.asp", "/catfish", "/?id=fish", "/desert/fish"],
    ],
    [
      "/fish*",
      ["/fish", "/fish.html", "/fishheads/yummy.html"],
      ["/Fish.asp", "/catfish", "/desert/fish"],
    ],
    [
      "/fish/",
      ["/fish/", "/fish/salmon.htm", "/fish/?id=1"],
      ["/fish", "/fish.html", "/animals/fish/"],
    ],
    // Section 2.2.3: `*` crosses slashes and question marks, `$` ends.
    [
      "/*.php",
      ["/index.php", "/a/b.php", "/a/b.php?c", "/a.php/", "/a.php5"],
      ["/", "/windows.PHP"],
    ],
    [
      "/*.php$",
      ["/filename.php", "/folder/filename.php"],
      ["/filename.php?parameters", "/filename.php/", "/filename.php5", "/windows.PHP"],
    ],
    ["/fish*.php", ["/fish.php", "/fishheads/catfish.php?parameters"], ["/Fish.PHP"]],
    ["/$", ["/"], ["/a", "/?a"]],
    ["*.gif$", ["/a.gif", "/a/b.gif"], ["/a.gif?b"]],
    ["/foo/bar$", ["/foo/bar"], ["/foo/bar/", "/foo/barqux", "/foo/bar?"]],
    ["/a*b*c", ["/abc", "/aXbXc", "/abbcc"], ["/acb", "/ab"]],
    ["/a**b$", ["/ab", "/axb"], ["/abc"]],
    ["/ab*b$", ["/abb", "/abcb"], ["/ab"]],
    ["/*", ["/", "/a"], []],
    ["*$", ["/", "/a"], []],
    ["fish", [], ["/fish", "/"]],
    // A dollar sign that is not last is one, and one can be written as %24.
    ["/a$b", ["/a$b", "/a$bc"], ["/a", "/ab"]],
    ["/price%24", ["/price$", "/price$5"], ["/price"]],
    ["/file-with-a-%2A.html", ["/file-with-a-*.html"], ["/file-with-a-b.html"]],
    ["/a*b", ["/a*b", "/a%2Ab"], []],
    // Section 2.2.2: octets that are not ASCII are compared encoded, unreserved ones decoded.
    ["/foo/bar/ツ", ["/foo/bar/ツ", "/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84"], ["/foo/bar/"]],
    ["/foo/bar/%E3%83%84", ["/foo/bar/%E3%83%84", "/foo/bar/ツ"], []],
    ["/foo/bar/%62%61%7A", ["/foo/bar/baz", "/foo/bar/%62%61%7a"], []],
    [
      "/foo/bar?baz=https://foo.bar",
      ["/foo/bar?baz=https://foo.bar"],
      ["/foo/bar?baz=https%3A%2F%2Ffoo.bar"],
    ],
    ["/%aa", ["/%AA", "/%aa"], ["/aa"]],
    ["/100%", ["/100%", "/100%25"], ["/100"]],
    ["/a%2Fb", ["/a%2fb"], ["/a/b"]],
  ])("`%s`", (pattern, matching, others) => {
    expect(matching.filter((path) => !isMatch(pattern, path))).toEqual([]);
    expect(others.filter((path) => isMatch(pattern, path))).toEqual([]);
  });

  test("`#` cuts a pattern (section 2.2.3)", () => {
    expect(isMatch("/foo#bar", "/foo/x")).toBe(true);
  });

  test("a cut line is still a prefix", () => {
    const cutDisallow = `/x/${"a".repeat(16_649)}`;
    const text = `user-agent: *\ndisallow: ${cutDisallow}/qux\n`;
    expect(isAllowed(text, "a", "/fux")).toBe(true);
    expect(isAllowed(text, "a", `${cutDisallow}/fux`)).toBe(false);
    const cutAllow = `/x/${"a".repeat(16_652)}`;
    const both = `user-agent: *\ndisallow: /\nallow: ${cutAllow}/qux\n`;
    expect(isAllowed(both, "a", "/")).toBe(false);
    expect(isAllowed(both, "a", `${cutAllow}/qux`)).toBe(true);
    expect(isAllowed(both, "a", `${cutAllow}/fux`)).toBe(true);
    expect(isAllowed(both, "a", cutAllow)).toBe(false);
  });
});

describe("which rule decides (RFC 9309 section 2.2.2)", () => {
  test.each<readonly [string, readonly string[], string, boolean]>([
    ["the longer disallow", ["disallow: /x/page.html", "allow: /x/"], "/x/page.html", false],
    ["the longer allow", ["allow: /x/page.html", "disallow: /x/"], "/x/page.html", true],
    [
      "the shorter one where the longer does not match",
      ["allow: /x/page.html", "disallow: /x/"],
      "/x/",
      false,
    ],
    ["allow, of equals", ["disallow: /x/page.html", "allow: /x/page.html"], "/x/page.html", true],
    ["allow, of equals written otherwise", ["disallow: /%78", "allow: /x"], "/x", true],
    ["allow, of two empty patterns", ["disallow:", "allow:"], "/x", true],
    [
      "the wildcard, when its pattern is longer",
      ["disallow: /*.html", "allow: /page"],
      "/page.html",
      false,
    ],
    [
      "the literal, when it is longer",
      ["disallow: /*.html", "allow: /x/page."],
      "/x/page.html",
      true,
    ],
    ["`$` counts as an octet", ["disallow: /", "allow: /$"], "/", true],
    ["and ends", ["disallow: /", "allow: /$"], "/page.htm", false],
    ["length of the pattern, not of the match", ["disallow: /*", "allow: /p"], "/page", true],
    [
      "non-ASCII characters count as they are encoded",
      ["disallow: /ツ", "allow: /*aaaaaa"],
      "/ツaaaaaa",
      false,
    ],
    ["none: all is allowed", ["disallow: /a"], "/b", true],
    ["an empty target is the root", ["disallow: /"], "", false],
    ["/robots.txt is always allowed", ["disallow: /"], "/robots.txt", true],
    ["/robots.txt alone", ["disallow: /"], "/robots.txt?a", false],
  ])("%s", (_, lines, path, allowed) => {
    const forwards = `user-agent: *\n${lines.join("\n")}\n`;
    const backwards = `user-agent: *\n${[...lines].reverse().join("\n")}\n`;
    expect(isAllowed(forwards, "a", path)).toBe(allowed);
    expect(isAllowed(backwards, "a", path)).toBe(allowed);
  });

  test("the verdict names the rule", () => {
    const file = parseRobots("user-agent: *\ndisallow: /a\nallow: /a/b\n");
    const judge = createPathMatcher(rulesFor(file, ["x"]));
    expect(judge("/a/b/c").rule).toEqual({ kind: "allow", pattern: "/a/b", line: 3 });
    expect(judge("/a/c").rule).toEqual({ kind: "disallow", pattern: "/a", line: 2 });
    expect(judge("/c").rule).toBeUndefined();
  });
});

describe("where Google reads patterns in its own way", () => {
  test.each([
    // Its parser decodes nothing; the RFC decodes unreserved characters.
    ["/foo/bar/%62%61%7A", "/foo/bar/baz", false, true],
    ["/foo/bar/%62%61%7A", "/foo/bar/%62%61%7A", true, true],
    // It is handed encoded URLs, and finds `%2A` in no raw star.
    ["/a%2Ab", "/a*b", false, true],
    ["/foo/bar/ツ", "/foo/bar/%E3%83%84", true, true],
    ["/foo/bar/ツ", "/foo/bar/ツ", false, true],
    ["/%aa", "/%AA", true, true],
  ])("`%s` on `%s`", (pattern, path, google, rfc) => {
    expect(isMatch(pattern, path, "google")).toBe(google);
    expect(isMatch(pattern, path, "rfc9309")).toBe(rfc);
  });

  test("allowing an index page allows its folder, there alone", () => {
    const text = "user-agent: *\nallow: /a/index.html\ndisallow: /\n";
    expect(isAllowed(text, "x", "/a/", "google")).toBe(true);
    expect(isAllowed(text, "x", "/a/b", "google")).toBe(false);
    expect(isAllowed(text, "x", "/a/index.htm", "google")).toBe(false);
    expect(isAllowed(text, "x", "/a/", "rfc9309")).toBe(false);
  });
});

describe("agreement with others", () => {
  const piece = fc.constantFrom("a", "b", "/", "*", ".", "?", "-", "c", "/a", "b/");
  const pattern = fc
    .tuple(fc.array(piece, { maxLength: 8 }), fc.constantFrom("", "$"))
    .map(([pieces, end]) => `/${pieces.join("")}${end}`);
  const path = fc
    .array(fc.constantFrom("a", "b", "/", ".", "?", "-", "c"), { maxLength: 12 })
    .map((pieces) => `/${pieces.join("")}`);
  const rule = fc.tuple(fc.constantFrom("Allow", "Disallow"), pattern);

  test("verdicts are those of robots-parser, which has Google's matcher", () => {
    fc.assert(
      fc.property(fc.array(rule, { minLength: 1, maxLength: 6 }), path, (rules, target) => {
        const lines = rules.map(([kind, text]) => `${kind}: ${text}`).join("\n");
        const text = `User-agent: *\n${lines}\n`;
        // URLs are cleaned before they are compared, which is not the matcher's matter.
        const url = new URL(`https://h${target}`);
        fc.pre(url.pathname + url.search === target);
        const theirs = robotsParser("https://h/robots.txt", text).isAllowed(
          `https://h${target}`,
          "a",
        );
        expect(isAllowed(text, "a", target)).toBe(theirs);
      }),
      { numRuns: 3000 },
    );
  });

  test("so are groups, where only lines of RFC 9309 stand in the file", () => {
    const line = fc.oneof(
      fc.constantFrom("a", "b", "*", "A", "b/1.0").map((agent) => `User-agent: ${agent}`),
      rule.map(([kind, text]) => `${kind}: ${text}`),
      fc.constantFrom("Disallow:", "", "# comment"),
    );
    // A last group without rules allows all (section 2.1); robots-parser does not see it.
    const file = fc
      .array(line, { maxLength: 12 })
      .map((lines) => [...lines, "Disallow: /never"].join("\n"));
    fc.assert(
      fc.property(file, path, fc.constantFrom("a", "b", "c"), (text, target, agent) => {
        const url = new URL(`https://h${target}`);
        fc.pre(url.pathname + url.search === target);
        const theirs = robotsParser("https://h/robots.txt", text).isAllowed(url.href, agent);
        expect(isAllowed(text, agent, target)).toBe(theirs);
      }),
      { numRuns: 3000 },
    );
  });

  test("taking each literal at its first place finds what trying every place finds", () => {
    fc.assert(
      fc.property(pattern, path, (text, target) => {
        expect(isMatch(text, target)).toBe(matchesByTrial(text, target));
      }),
      { numRuns: 3000 },
    );
  });

  /** Google's `Matches`: every place that the pattern so far may end at. */
  function matchesByTrial(text: string, target: string): boolean {
    let ends = [0];
    for (const [index, character] of [...text].entries()) {
      if (character === "$" && index === text.length - 1) return ends.includes(target.length);
      if (character === "*") {
        const first = ends[0] ?? 0;
        ends = Array.from({ length: target.length - first + 1 }, (_, more) => first + more);
      } else {
        ends = ends.filter((end) => target[end] === character).map((end) => end + 1);
      }
      if (ends.length === 0) return false;
    }
    return true;
  }

  test("25 wildcards cost no more than they are long", () => {
    const started = performance.now();
    expect(isMatch(`/${"*a".repeat(25)}b`, `/${"a".repeat(8000)}`)).toBe(false);
    expect(performance.now() - started).toBeLessThan(1000);
  });
});
