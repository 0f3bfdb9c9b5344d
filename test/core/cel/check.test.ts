import { describe, expect, test } from "vitest";
import { checkCondition } from "../../../src/core/cel/check.ts";
import { createEnvironment } from "../../../src/core/cel/environment.ts";

const environment = createEnvironment({
  sets: new Map<string, readonly string[] | readonly bigint[]>([
    ["protected_paths", ["/archive", "/datasets"]],
    ["my-set", ["a"]],
    ["ports", [80n, 443n]],
    ["none", []],
    ["nets", ["203.0.113.0/24", "203.0.113.0/99"]],
  ]),
});

function faultsOf(source: string): readonly string[] {
  const result = checkCondition(source, environment);
  if (result.kind === "checked") return [];
  return result.faults.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

function readsOf(source: string): readonly string[] {
  const result = checkCondition(source, environment);
  if (result.kind === "faulty") throw new Error(result.faults.map((it) => it.message).join());
  return [...result.expression.reads].sort();
}

const SUPPORTED =
  "supported are all, bool, charAt, contains, double, endsWith, exists, exists_one, filter, has, header, inCidr, indexOf, int, join, lastIndexOf, lowerAscii, map, matches, pathUnder, replace, size, split, startsWith, string, strings.quote, substring, trim, uint, upperAscii";

describe("a condition of the policy guide is accepted", () => {
  test.each([
    "bot.claimed && !bot.verified",
    'bot.verified && bot.class == "search"\n',
    'bot.verified &&\nbot.class == "ai_training" &&\nsets.protected_paths.exists(p, request.path.startsWith(p))\n',
    'bot.class == "unknown" && sets.protected_paths.exists(p, request.path.startsWith(p))',
  ])("%s", (source) => {
    expect(faultsOf(source)).toEqual([]);
  });
});

describe("what CEL allows with the types of the inputs is accepted", () => {
  test.each([
    "true // everything",
    "bot.verified // a comment ends the text",
    'sets["my-set"].exists(x, x == bot.id)',
    "sets.ports.exists(p, p == 80)",
    "sets.none.size() == 0 && size(sets.none) == 0",
    "bot.id in sets.none",
    "80 in sets.ports || 1 + 2 * 3 - 4 / 2 % 2 > -5",
    'request.path in ["/a", "/b"] || request.host in {"a": 1}',
    'has(request.headers.referer) && request.headers["referer"].contains("x")',
    'header("X-Forwarded-Proto") == "https"',
    'pathUnder(request.path, "/archive") || inCidr(request.ip, "2001:db8::/32")',
    "sets.protected_paths.exists(p, pathUnder(request.path, p))",
    'request.path.matches(r"^/v\\d+/(?i:admin)")',
    'request.path.lowerAscii().split("/").map(s, s.trim()).join("-") != ""',
    "sets.protected_paths.filter(p, p.size() > 3).all(p, p.startsWith('/'))",
    "request.path.size() > 10 && size(request.path) < 20u && 1.5 < 2",
    'int("5") == 5 && uint("5") == 5u && double("5") == 5.0 && bool("true") && string(5) == "5"',
    'strings.quote(request.query) == "x" || request.query.charAt(0) == "a"',
    'bot.verification in ["verified", "unavailable"] || bot.verification != "refuted"',
    "bot.verifiable ? request.raw_path == request.path : request.scheme == 'https'",
    "sets.protected_paths.exists_one(bot, bot == labels.path)",
    '{"a": [1]}["a"][0] == 1 && {"a": 1}.exists(k, k == "a")',
    'site.mode == "enforce" && site.id == labels.bot_id && site.host == labels.host',
    'sets.protected_paths + ["/x"] == ["/x"]',
  ])("%s", (source) => {
    expect(faultsOf(source)).toEqual([]);
  });
});

describe("a mistake is told with its place and what would be right", () => {
  test.each([
    ["bot.verifed", "1:5 unknown field `bot.verifed`; did you mean `bot.verified`?"],
    ["reqest.path == 'x'", "1:1 unknown name `reqest`; did you mean `request`?"],
    ["xyzzy", "1:1 unknown name `xyzzy`; names are `bot`, `request`, `site`, `labels`, `sets`"],
    [
      "sets.protected_path.size() == 0",
      "1:6 unknown set `protected_path`; did you mean `sets.protected_paths`?",
    ],
    ["has(bot.nme)", "1:1 unknown field `bot.nme`; did you mean `bot.name`?"],
    ["request.path", "1:8 a condition is true or false; this is string"],
    ["bot.verified == 'true'", "1:14 `==` cannot compare bool with string"],
    ["bot.claimed == 1", "1:13 `==` cannot compare bool with int"],
    ["sets.ports.exists(p, p == '80')", "1:24 `==` cannot compare int with string"],
    ["!request.path", "1:1 `!` does not take (string); it takes (bool)"],
    [
      "1 + 'a' == 2",
      "1:3 `+` does not take (int, string); it takes (int, int), (uint, uint), (double, double), (string, string), …",
    ],
    [
      "request.path.startsWith(1)",
      "1:14 `startsWith` does not take (string, int); it takes (string, string), written `text.startsWith(prefix)`",
    ],
    ["startsWith(request.path, '/a')", "1:1 `startsWith` is written `text.startsWith(prefix)`"],
    ["request.path.pathUnder('/a')", "1:14 `pathUnder` is written `pathUnder(path, prefix)`"],
    ["has(true)", "1:1 `has` is written `has(request.headers.referer)`"],
    [
      "request.path.startWith('/a')",
      `1:14 unknown function \`startWith\`; did you mean \`startsWith\`? ${SUPPORTED}`,
    ],
    ["timestamp('x') == 1", `1:1 unknown function \`timestamp\`; ${SUPPORTED}`],
    ["'a'.format([1]) == 'a'", `1:5 unknown function \`format\`; ${SUPPORTED}`],
    ["dyn(1) == 1", `1:1 unknown function \`dyn\`; ${SUPPORTED}`],
    ["null == null || true", "1:1 `null` is not supported; no input is ever null"],
    ["b'x'.size() == 1", "1:1 bytes are not supported; write a string without the `b`"],
    ["9223372036854775808 == 1", "1:1 `9223372036854775808` is not a 64-bit int"],
    ["18446744073709551616u == 1u", "1:1 `18446744073709551616u` is not a 64-bit uint"],
    [
      "[1, 'a'].size() == 2",
      "1:5 the elements of a list are of one type; this is string, the first is int",
    ],
    ["{1.5: 1}.size() == 1", "1:2 the keys of a map are string, int, uint or bool; this is double"],
    ["request.path.exists(x, true)", "1:14 `exists` runs over a list or a map; this is string"],
    ["sets.ports.all(p, p)", "1:19 the condition of `all` is true or false; this is int"],
    ["bot[request.path] == 'x'", "1:12 fields of `bot` are named by a constant"],
    ["Foo{a: 1} == 1", "1:1 messages such as `Foo{…}` are not supported"],
  ])("%s", (source, fault) => {
    expect(faultsOf(source)[0]).toBe(fault);
  });
});

describe("a header name that cannot be meant is refused", () => {
  test.each([
    ["request.headers.x-a == 'b'", '1:18 `-` is subtraction; write `request.headers["x-a"]`'],
    [
      "request.headers.x-a-b.contains('b')",
      '1:20 `-` is subtraction; write `request.headers["x-a-b"]`',
    ],
    [
      "request.headers.x-forwarded-for == 'b'",
      '1:29 `-` is subtraction; write `request.headers["x-forwarded-for"]`',
    ],
    ["sets.my-set.exists(x, true)", '1:8 `-` is subtraction; write `sets["my-set"]`'],
    [
      "request.headers['X-A'] == 'b'",
      '1:17 header names are lower-case here; write `request.headers["x-a"]`',
    ],
    ["request.headers[1] == 'b'", "1:17 header fields are named by a string; this is int"],
  ])("%s", (source, fault) => {
    expect(faultsOf(source)).toEqual([fault]);
  });
});

describe("a constant that can never work is refused at load", () => {
  test.each([
    ["request.path.matches('[')", "1:22 `[` is not RE2 syntax: missing closing ]: `[`"],
    [
      "request.path.matches('(?=a)')",
      "1:22 `(?=a)` is not RE2 syntax: invalid or unsupported Perl syntax: `(?=`",
    ],
    ["request.path.matches(request.query)", "1:29 a regular expression must be a constant text"],
    [
      "request.path.matches('((a{1,30}){1,30}){1,30}')",
      "1:22 `((a{1,30}){1,30}){1,30}` is not RE2 syntax: invalid repeat count: `{1,30}`",
    ],
    [
      "request.path.matches('a.{30}b$')",
      "1:22 `a.{30}b$` needs more than 1000 states, which a client could make slow; use smaller repetitions of what overlaps",
    ],
    [
      "inCidr(request.ip, '10.0.0.0/33')",
      "1:20 `10.0.0.0/33` has a bad prefix length; IPv4 takes 0 to 32",
    ],
    [
      "sets.nets.exists(n, inCidr(request.ip, n))",
      "1:40 `203.0.113.0/99` of `sets.nets` has a bad prefix length; IPv4 takes 0 to 32",
    ],
    [
      "bot.verification == 'verifed'",
      "1:21 `bot.verification` is never `verifed`; did you mean `verified`?",
    ],
    [
      "'unverified' != bot.verification",
      "1:1 `bot.verification` is never `unverified`; did you mean `verified`?",
    ],
    [
      "bot.verification in ['verified', 'not_needed']",
      "1:34 `bot.verification` is never `not_needed`; outcomes are `verified`, `refuted`, `unverifiable`, `unavailable`",
    ],
  ])("%s", (source, fault) => {
    expect(faultsOf(source)).toEqual([fault]);
  });
});

describe("a text that is no CEL is told where reading stopped", () => {
  test.each([
    ["bot.id = 'x'", "1:8 cannot read on from `=`; did you mean `==`?"],
    ["bot.verified and bot.claimed", "1:14 cannot read on from `and`; did you mean `&&`?"],
    ["bot.id === 'x'", "1:8 cannot read on from `===`; did you mean `==`?"],
    ["bot.verified &&\n  bot.id == 'abc", "2:10 cannot read on from `==`; is the text closed?"],
    ["(bot.verified", "1:14 ends too early"],
    ["  \n ", "1:1 the condition is empty"],
    ["// nothing", "1:11 ends too early"],
  ])("%s", (source, fault) => {
    expect(faultsOf(source)).toEqual([fault]);
  });

  test.each([
    ["brackets", `${"(".repeat(30_000)}true${")".repeat(30_000)}`],
    ["a sum", `1${"+1".repeat(30_000)} == 2`],
    ["calls", `"a"${".trim()".repeat(9000)} == "a"`],
  ])("%s nested beyond the stack are a fault, not a crash", (_name, source) => {
    expect(faultsOf(source)).toEqual(["1:1 is nested too deeply; split the rule"]);
  });

  test("a long row of conditions is not deep", () => {
    expect(faultsOf(`true${" && bot.claimed".repeat(3000)}`)).toEqual([]);
  });
});

test("all faults of a condition are told at once, in the order of the text", () => {
  expect(faultsOf("bot.verifed &&\n  request.pth == 'a' ||\n  1 == 'a'")).toEqual([
    "1:5 unknown field `bot.verifed`; did you mean `bot.verified`?",
    "2:11 unknown field `request.pth`; did you mean `request.path`?",
    "3:5 `==` cannot compare int with string",
  ]);
});

describe("a condition tells which inputs it reads", () => {
  test.each([
    ["bot.verified && request.path == '/a'", ["bot.verified", "request.path"]],
    ["sets['my-set'].exists(p, p == labels.path)", ["labels.path", "sets.my-set"]],
    [
      "has(request.headers.a) && request.headers['x-b'] == ''",
      ["request.headers.a", "request.headers.x-b"],
    ],
    ["header('X-Token') == ''", ["request.headers.x-token"]],
    ["header(request.query) == ''", ["request.headers", "request.query"]],
    ["request.headers.exists(k, k == 'a')", ["request.headers"]],
    ["sets.ports.exists(bot, bot == 1)", ["sets.ports"]],
  ])("%s", (source, reads) => {
    expect(readsOf(source)).toEqual(reads);
  });
});

describe("a header field that may be absent is told unless something guards it", () => {
  test.each([
    ["request.headers.referer.contains('x')", ['1:17 request.headers["referer"]']],
    ["request.headers['x-a'] == 'b' || bot.verified", ['1:16 request.headers["x-a"]']],
    ["request.headers[request.query] == 'b'", ["1:16 request.headers[…]"]],
    ["has(request.headers.a) || request.headers.a == 'b'", ['1:43 request.headers["a"]']],
    ["has(request.headers.a) && request.headers.a == 'b'", []],
    ["request.headers.a == 'b' && has(request.headers.a)", []],
    ["!has(request.headers.a) || request.headers.a == 'b'", []],
    ["'x-a' in request.headers ? request.headers['x-a'] == 'b' : true", []],
    ["['a'].exists(h, h in request.headers && request.headers[h] == 'b')", []],
    ["header('referer').contains('x')", []],
  ])("%s", (source, unguarded) => {
    const result = checkCondition(source, environment);
    if (result.kind === "faulty") throw new Error("must check");
    const told = result.expression.unguarded.map((it) => `${it.line}:${it.column} ${it.access}`);
    expect(told).toEqual(unguarded);
  });
});

test("bot.by_ip is a list of texts", () => {
  expect(checkCondition('"gptbot" in bot.by_ip', environment).kind).toBe("checked");
  expect(checkCondition("1 in bot.by_ip", environment).kind).toBe("faulty");
});
