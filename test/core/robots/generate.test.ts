import { describe, expect, test } from "vitest";
import { resolveCrawlDelay } from "../../../src/core/robots/crawl-delay.ts";
import { type GeneratedRobots, generateRobots } from "../../../src/core/robots/generate.ts";
import { parseRobots } from "../../../src/core/robots/parse.ts";
import { policyFrom } from "../../support/compile.ts";

const HOST = "docs.example.com";

const BOTS = `
  - { id: gptbot, class: ai_training, operator: OpenAI, match: { user_agents: [GPTBot] }, verify: { type: static_ranges, cidrs: [20.0.0.0/24] } }
  - { id: ccbot, class: ai_training, match: { user_agents: [CCBot] }, verify: none }
`;

const SETS = `
  dirs: [/archive, /data sets]
  names: [archive]
  types: [.pdf, .docx]
`;

interface Options {
  readonly site?: string;
  readonly bots?: string;
  readonly head?: string;
  readonly host?: string | undefined;
}

/** The file of a policy with these rules, in order. */
function generate(rules: readonly string[], options: Options = {}): GeneratedRobots {
  const lines = rules.map((rule, index) => `  - { id: r${index}, priority: ${index}, ${rule} }`);
  const policy = policyFrom(`
site: { id: docs, host: ${HOST}, mode: enforce${options.site ?? ""} }
${options.head ?? ""}
bots: ${options.bots ?? BOTS}
sets: ${SETS}
${lines.length === 0 ? "" : `rules:\n${lines.join("\n")}`}
`);
  return generateRobots(policy, "host" in options ? options.host : HOST);
}

function block(when: string): string {
  return `when: ${JSON.stringify(when)}, action: { type: block, reason: no }`;
}

function allow(when: string): string {
  return `when: ${JSON.stringify(when)}, action: allow`;
}

function limit(key: string, rpm: number, when = "true"): string {
  return `when: ${JSON.stringify(when)}, action: { type: rate_limit, limit: { key: ${key}, rpm: ${rpm} } }`;
}

/** The lines of a group after its User-agent line. */
function group({ body }: GeneratedRobots, token: string): readonly string[] {
  const found = body.split("\n\n").find((part) => part.startsWith(`User-agent: ${token}\n`));
  return (found ?? "").trimEnd().split("\n").slice(1);
}

function everybody(...rules: readonly string[]): readonly string[] {
  return group(generate(rules), "*");
}

function codes({ notes }: GeneratedRobots): readonly string[] {
  return notes
    .map(({ ruleId, code }) => `${ruleId} ${code}`.trim())
    .filter((it) => it !== "other_readings");
}

describe("a rule on the path is written as patterns that hold just that", () => {
  test.each([
    ['request.path == "/"', ["Disallow: /$", "Disallow: /?"]],
    ['request.path == "/admin"', ["Disallow: /admin$", "Disallow: /admin?"]],
    ['request.path in ["/private"]', ["Disallow: /private$", "Disallow: /private?"]],
    ['request.path.startsWith("/archive")', ["Disallow: /archive"]],
    ['pathUnder(request.path, "/a")', ["Disallow: /a$", "Disallow: /a/", "Disallow: /a?"]],
    ["true", ["Disallow: /"]],
    ['request.path != "/"', ["Allow: /$", "Allow: /?", "Disallow: /"]],
    ['!request.path.startsWith("/open")', ["Allow: /open", "Disallow: /"]],
    [
      'sets.dirs.exists(p, request.path.startsWith(p + "/"))',
      ["Disallow: /data%20sets/", "Disallow: /archive/"],
    ],
    ['sets.names.exists(d, request.path.startsWith("/" + d))', ["Disallow: /archive"]],
    ['request.path.startsWith("/arch" + "ive")', ["Disallow: /archive"]],
    ['request.path.startsWith("/a") && request.path.startsWith("/ab")', ["Disallow: /ab"]],
    [
      'request.path.startsWith("/a") ? request.path != "/ab" : false',
      ["Allow: /ab$", "Allow: /ab?", "Disallow: /a"],
    ],
    ['request.path.matches("^/wp-(admin|json)")', ["Disallow: /wp-admin", "Disallow: /wp-json"]],
    ['request.path.matches("^/exact$")', ["Disallow: /exact$", "Disallow: /exact?"]],
    ["size(request.path) == 1", ["Disallow: /$", "Disallow: /?"]],
    ["request.path.startsWith('/a') // don't index", ["Disallow: /a"]],
    ['request.path.startsWith("\\x2farchive")', ["Disallow: /archive"]],
    ['request.path.startsWith("archive")', ["Allow: /"]],
  ])("%s", (when, lines) => {
    const file = generate([block(when)]);
    expect(group(file, "*")).toEqual(lines);
    expect(codes(file)).toEqual([]);
  });

  test("allowed paths within a blocked one are longer patterns, and come first", () => {
    expect(
      everybody(
        allow('request.path.startsWith("/a/open")'),
        block('request.path.startsWith("/a")'),
      ),
    ).toEqual(["Allow: /a/open", "Disallow: /a"]);
    expect(everybody(allow('request.path == "/"'), block("true"))).toEqual([
      "Allow: /$",
      "Allow: /?",
      "Disallow: /",
    ]);
  });

  test("a rule behind one that always decides is not written", () => {
    expect(everybody(allow("true"), block('request.path.startsWith("/a")'))).toEqual(["Allow: /"]);
  });

  test("a rule in shadow is left out", () => {
    expect(everybody(`${block("true")}, mode: shadow`)).toEqual(["Allow: /"]);
  });
});

describe("a literal is written as crawlers compare it", () => {
  test.each([
    ["/c#sharp", ["Disallow: /c%23sharp"]],
    ["/a*b", ["Disallow: /a%2Ab"]],
    ["/a b", ["Disallow: /a%20b"]],
    ["/100%", ["Disallow: /100%25"]],
    ["/what?", ["Disallow: /what%3F"]],
    ["/café", ["Disallow: /caf%C3%A9"]],
    ['/"<>^`{|}', ["Disallow: /%22%3C%3E%5E%60%7B%7C%7D"]],
    ["/a-b.c_d~e!&'()+,=:@", ["Disallow: /a-b.c_d~e!&'()+,=:@"]],
    ["/usd$", ["Disallow: /usd%24"]],
    ["/usd$1", ["Disallow: /usd%241", "Disallow: /usd$1"]],
  ])("%s", (text, lines) => {
    expect(everybody(block(`request.path.startsWith(${JSON.stringify(text)})`))).toEqual(lines);
  });

  test("a line break in a literal writes no line of its own", () => {
    const { body } = generate([block('request.path.startsWith("/secret\\nAllow: /")')]);
    const lines = body.split("\n").filter((line) => line.startsWith("Disallow"));
    expect(new Set(lines)).toEqual(new Set(["Disallow: /secret%0AAllow:%20/"]));
    expect(body).not.toContain("\nAllow:");
  });
});

describe("a text within the path is written with `*`, and told", () => {
  test.each([
    ['request.path.endsWith(".pdf")', ["Disallow: /*.pdf$", "Disallow: /*.pdf?"]],
    ['request.path.contains("draft")', ["Disallow: /*draft"]],
    ['request.path.contains("/private/")', ["Disallow: /*/private/", "Disallow: /private/"]],
    ['request.path.matches("^/wp-.*\\\\.php$")', ["Disallow: /wp-*.php$", "Disallow: /wp-*.php?"]],
    ['request.path.matches("/wp-.*\\\\.php")', ["Disallow: /*/wp-*.php", "Disallow: /wp-*.php"]],
    [
      "sets.types.exists(t, request.path.endsWith(t))",
      ["Disallow: /*.docx$", "Disallow: /*.docx?", "Disallow: /*.pdf$", "Disallow: /*.pdf?"],
    ],
    [
      'request.path.startsWith("/ab") && request.path.endsWith("b")',
      ["Disallow: /ab*b$", "Disallow: /ab*b?", "Disallow: /ab$", "Disallow: /ab?"],
    ],
  ])("%s", (when, lines) => {
    const file = generate([block(when)]);
    expect(group(file, "*")).toEqual(lines);
    expect(codes(file)).toEqual(["r0 approximated"]);
  });

  test("the witness is a URL whose query alone has the text", () => {
    const { notes } = generate([block('request.path.endsWith(".pdf")')]);
    expect(notes.find(({ code }) => code === "approximated")?.witness).toBe("/x?y=.pdf");
  });

  test("an allowed folder stays allowed where its line is shorter than the pattern", () => {
    const file = generate([
      allow('request.path.startsWith("/docs/")'),
      block('request.path.endsWith(".pdf")'),
    ]);
    expect(group(file, "*")).toEqual([
      "Allow: /docs/*.pdf$",
      "Allow: /docs/*.pdf?",
      "Disallow: /*.pdf$",
      "Disallow: /*.pdf?",
    ]);
  });
});

describe("what robots.txt cannot tell forbids nothing, and is told with a path", () => {
  test.each([
    ['request.headers["cf-bot-score"] == "1"', "unseen_input", "request.headers"],
    ['request.query == ""', "unseen_input", "request.query"],
    ['!request.ip.startsWith("10.")', "unseen_input", "request.ip"],
    ['request.user_agent.contains("ChatGPT-User")', "unseen_input", "request.user_agent"],
    ['request.scheme == "http"', "unseen_input", "request.scheme"],
    ['request.path.startsWith("/a") && header("x-key") == ""', "unseen_input", "request.headers"],
    ["size(request.path) > 40", "no_pattern", "no pattern can say"],
    ['request.path.matches("^/api/v[0-9]+/")', "no_pattern", "no pattern can say"],
    ['request.path.lowerAscii().startsWith("/a")', "no_pattern", "no pattern can say"],
  ])("%s", (when, code, words) => {
    const file = generate([block(when)]);
    expect(group(file, "*")).toEqual(["Allow: /"]);
    const note = file.notes.find(({ ruleId }) => ruleId === "r0");
    expect(note).toMatchObject({ code, message: expect.stringContaining(words) });
    expect(note?.witness).toMatch(/^\//);
  });

  test("is no matter where every rule that may decide blocks", () => {
    const file = generate([block('request.query == ""'), block("true")]);
    expect(group(file, "*")).toEqual(["Disallow: /"]);
    expect(codes(file)).toEqual([]);
  });

  test("an error of evaluation is one of the things that may be", () => {
    // Without the header the rule fails, and does not match.
    const file = generate([
      block('!(request.headers["x"] == "1" && false) || request.headers["x"] == "2"'),
    ]);
    expect(group(file, "*")).toEqual(["Disallow: /"]);
    expect(group(generate([block('(request.headers["x"] == "1") ? true : true')]), "*")).toEqual([
      "Allow: /",
    ]);
  });

  test("method: the file speaks for GET", () => {
    expect(everybody(block('request.method == "GET"'))).toEqual(["Disallow: /"]);
    const file = generate([block('request["method"] == "POST"')]);
    expect(group(file, "*")).toEqual(["Allow: /"]);
    expect(codes(file)).toEqual(["r0 other_method"]);
  });

  test("host: known in the file of an exact host, unseen in that of a wildcard", () => {
    const rules = [block(`request.host == "${HOST}"`)];
    expect(group(generate(rules), "*")).toEqual(["Disallow: /"]);
    expect(group(generate(rules, { host: "other.example.com" }), "*")).toEqual(["Allow: /"]);
    const any = generate(rules, { host: undefined });
    expect(group(any, "*")).toEqual(["Allow: /"]);
    expect(codes(any)).toEqual(["r0 unseen_input"]);
  });

  test("what only looks like an unseen input is none", () => {
    expect(codes(generate([block('request.path == "/request.ip/x"')]))).toEqual([]);
    expect(codes(generate([block("request.host == site.host")]))).toEqual([]);
  });
});

describe("groups", () => {
  test("crawlers that can be verified are taken for genuine, others for spoofers", () => {
    const file = generate([
      block("bot.claimed && !bot.verified"),
      block('bot.class == "ai_training" && request.path.startsWith("/archive")'),
    ]);
    expect(group(file, "GPTBot")).toEqual(["Disallow: /archive"]);
    expect(group(file, "CCBot")).toEqual(["Disallow: /"]);
    expect(group(file, "*")).toEqual(["Allow: /"]);
  });

  test("stand alone, each with all that holds for it, `*` last", () => {
    const { body } = generate([
      block('bot.id == "gptbot" && request.path.startsWith("/a")'),
      block('request.path.startsWith("/b")'),
    ]);
    expect(body).toBe(
      `# Generated by CrawlWall from the policy of \`docs\`. Do not edit.

User-agent: GPTBot
Disallow: /a
Disallow: /b

User-agent: CCBot
Disallow: /b

User-agent: *
Disallow: /b
`,
    );
  });

  test("a token of another crawler carries the rules that hold for that one", () => {
    const bots = `
  - { id: images, class: x, match: { user_agents: [Googlebot-Image] }, robots_token: Googlebot, verify: none }
  - { id: google, class: y, match: { user_agents: [Googlebot] }, verify: none }
`;
    const file = generate([block('bot.id == "google"')], { bots });
    expect(group(file, "Googlebot")).toEqual(["Disallow: /"]);
    expect(group(file, "Googlebot-Image")).toEqual(["Allow: /"]);
    expect(file.body.match(/^User-agent: Googlebot$/gm)).toHaveLength(1);
  });

  test("each product token that a crawler is known by has one", () => {
    const bots = `
  - { id: a, class: x, match: { user_agents: [BotOne, BotTwo] }, verify: none }
`;
    const file = generate([block('bot.id == "a"')], { bots });
    expect(group(file, "BotOne")).toEqual(["Disallow: /"]);
    expect(group(file, "BotTwo")).toEqual(["Disallow: /"]);
  });
});

describe("Crawl-delay", () => {
  test.each([
    [1, 60],
    [7, 9],
    [10, 6],
    [13, 5],
    [30, 2],
    [59, 2],
    [60, 1],
  ])("%i requests a minute are %i seconds apart", (rpm, seconds) => {
    const file = generate([limit("bot.id", rpm)]);
    expect(group(file, "GPTBot")).toEqual(["Allow: /", `Crawl-delay: ${seconds}`]);
  });

  test("more than 60 a minute are told, and 1 where the site must limit", () => {
    const fast = generate([limit("bot.id", 120)]);
    expect(group(fast, "GPTBot")).toEqual(["Allow: /"]);
    expect(codes(fast)).toEqual(["r0 limit_above_60"]);
    const required = generate([limit("bot.id", 120)], { site: ", rate_limit_required: true" });
    expect(group(required, "GPTBot")).toEqual(["Allow: /", "Crawl-delay: 1"]);
  });

  test("a bucket that crawlers share makes each of them slower", () => {
    const file = generate([limit("bot.class", 10)]);
    expect(group(file, "GPTBot")).toContain("Crawl-delay: 12");
    expect(group(file, "CCBot")).toContain("Crawl-delay: 12");
    expect(group(file, "*")).toContain("Crawl-delay: 6");
    expect(group(generate([limit("request.ip", 10)]), "GPTBot")).toContain("Crawl-delay: 6");
  });

  test.each(["request.path", "request.host", "request.headers.x-key", "request.user_agent"])(
    "a limit by %s is told alone",
    (key) => {
      const file = generate([limit(key, 10)]);
      expect(group(file, "GPTBot")).toEqual(["Allow: /"]);
      expect(codes(file)).toEqual(["r0 limit_key"]);
    },
  );

  test("the longest counts, and a part of the site is told", () => {
    const file = generate([
      limit("bot.id", 6, 'request.path.startsWith("/search")'),
      limit("bot.id", 30),
    ]);
    expect(group(file, "GPTBot")).toContain("Crawl-delay: 10");
    expect(codes(file)).toEqual(["r0 limit_partial", "r1 limit_partial"]);
  });

  test("a crawler that is blocked everywhere has none", () => {
    expect(group(generate([block("true"), limit("bot.id", 10)]), "GPTBot")).toEqual([
      "Disallow: /",
    ]);
  });

  test("longer than 30 seconds is told", () => {
    expect(codes(generate([limit("bot.id", 1)]))).toEqual(["r0 long_delay"]);
  });

  test("a site that must limit publishes a file that passes our own audit", () => {
    const file = parseRobots(
      generate([limit("request.ip", 90)], { site: ", rate_limit_required: true" }).body,
    );
    for (const name of ["GPTBot", "CCBot", "*"]) {
      const { outcome } = resolveCrawlDelay(file, { names: [name], fallback: "rfc9309" });
      expect(outcome).toMatchObject({ kind: "valid", seconds: 1 });
    }
  });
});

describe("the rest of the file", () => {
  test("content signals are in every group, sitemaps and extra lines at the end", () => {
    const head = `robots:
  serve: true
  sitemaps: ["https://docs.example.com/sitemap.xml"]
  content_signals: { search: yes, ai-train: no }
  extra: ["Host: docs.example.com"]`;
    const { body } = generate([], { head, bots: "[]" });
    expect(body).toBe(`# Generated by CrawlWall from the policy of \`docs\`. Do not edit.

User-agent: *
Content-Signal: search=yes, ai-train=no
Allow: /

Sitemap: https://docs.example.com/sitemap.xml

Host: docs.example.com
`);
  });

  test("where case does not count, it speaks of lower case, whatever its rules name, and is told", () => {
    const file = generate(
      [allow('request.path == "/Admin/Help"'), block('pathUnder(request.path, "/admin/")')],
      { site: ", case_insensitive_paths: true", bots: "[]" },
    );
    expect(group(file, "*")).toContain("Disallow: /admin/");
    expect(codes(file)).toEqual(["other_case"]);
  });

  test("a site in shadow says that nothing is enforced", () => {
    const policy = policyFrom("site: { id: a, host: a.test }\n");
    expect(generateRobots(policy, "a.test").body).toContain(
      "# The policy is in shadow mode: none of this is enforced yet.",
    );
  });

  test("its version changes with what it says, and with nothing else", () => {
    const one = generate([block('request.path == "/a"')]);
    expect(generate([block('request.path in ["/a", "/a"]')]).sha256).toBe(one.sha256);
    expect(generate([block('request.path == "/b"')]).sha256).not.toBe(one.sha256);
  });

  test("1,000 rules and 300 crawlers are a matter of seconds", () => {
    const bots = Array.from(
      { length: 300 },
      (_, n) =>
        `  - { id: b${n}, class: c${n % 7}, match: { user_agents: [Bot${"x".repeat(n % 9)}N${n}] }, verify: none }`,
    );
    const rules = Array.from({ length: 1000 }, (_, n) => {
      if (n % 3 === 0)
        return block(`bot.id == "b${n % 300}" && request.path.startsWith("/own/${n}")`);
      if (n % 3 === 1) return block(`bot.class == "c${n % 7}" && request.path == "/class/${n}"`);
      return n % 2 === 0
        ? block(`request.path.startsWith("/all/${n}")`)
        : allow(`request.path == "/all/${n + 1}/x"`);
    });
    const policy = policyFrom(`
site: { id: docs, host: ${HOST}, mode: enforce }
bots:
${bots.join("\n")}
rules:
${rules.map((rule, n) => `  - { id: r${n}, priority: ${n}, ${rule} }`).join("\n")}
`);
    const start = process.cpuUsage();
    const { body } = generateRobots(policy, HOST);
    const { user, system } = process.cpuUsage(start);
    // Of the processor, and generous, so that a busy machine fails nothing: `npm run bench -- robots`
    // tells the time.
    expect((user + system) / 1e6).toBeLessThan(8);
    expect(body.match(/^User-agent: /gm)).toHaveLength(301);
  });
});
