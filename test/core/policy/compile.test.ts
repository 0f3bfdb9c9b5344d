import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { type Catalog, parseCatalog } from "../../../src/core/bot/catalog.ts";
import { compilePolicies, compilePolicy } from "../../../src/core/policy/compile.ts";
import type { Policy } from "../../../src/core/policy/policy.ts";

const FIXTURES = fileURLToPath(new URL("../../fixtures/policies/", import.meta.url));
const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

const catalog = readCatalog();

function readCatalog(): Catalog {
  const file = `${FIXTURES}catalog.yaml`;
  const parsed = parseCatalog([{ file, text: readFileSync(file, "utf8") }]);
  if (parsed.kind === "faulty") throw new Error(JSON.stringify(parsed.errors));
  return parsed.catalog;
}

function compile(text: string, file = "policy.yaml") {
  return compilePolicy({ file, text }, { catalog });
}

function compileGood(text: string): Policy {
  const compiled = compile(text);
  if (compiled.kind === "faulty") throw new Error(JSON.stringify(compiled.errors));
  return compiled.policy;
}

/** Each fault as the `.errors` files write it. */
function faultLines(text: string): readonly string[] {
  const compiled = compile(text);
  if (compiled.kind === "policy") return ["(loads)"];
  return compiled.errors.map(({ line, column, path, message }) =>
    path === "" ? `${line}:${column}: ${message}` : `${line}:${column}: ${path}: ${message}`,
  );
}

function yamlFilesIn(folder: string): readonly string[] {
  return readdirSync(FIXTURES + folder).filter((name) => name.endsWith(".yaml"));
}

const SITE = "site: { id: docs, host: docs.example.com }\n";

describe("a policy that is right", () => {
  test.each(yamlFilesIn("good"))("loads: %s", (name) => {
    const text = readFileSync(`${FIXTURES}good/${name}`, "utf8");
    expect(faultLines(text)).toEqual(["(loads)"]);
  });

  test.each(["policies/default.yaml", "examples/demo/crawlwall.yaml"])(
    "ships without a fault or a warning: %s",
    (file) => {
      const compiled = compile(readFileSync(ROOT + file, "utf8"));
      expect(compiled).toMatchObject({ kind: "policy", warnings: [] });
    },
  );

  test("is in shadow and allows, unless it says otherwise", () => {
    const policy = compileGood(SITE);
    expect(policy.site.mode).toBe("shadow");
    expect(policy.failMode).toBe("block");
    expect(policy.defaultRule).toMatchObject({
      id: "runtime.default_action",
      action: { kind: "allow" },
    });
    expect(policy.bots).toEqual([]);
    expect(policy.defaultBot).toMatchObject({ id: "unknown", class: "unknown", isDefault: true });
  });

  test("keeps every setting that it writes", () => {
    const policy = compileGood(readFileSync(`${FIXTURES}good/every-key.yaml`, "utf8"));
    expect(policy.site).toEqual({
      id: "docs.prod-1",
      hosts: [
        "docs.example.com",
        "*.example.com",
        "docs.example.org",
        "192.0.2.1",
        "[2001:db8::1]",
      ],
      mode: "observe",
      rateLimitRequired: true,
      caseInsensitivePaths: true,
    });
    expect(policy.ledger).toEqual({
      enabled: false,
      retentionMs: 30 * 86_400_000,
      ip: "truncated",
      query: "drop",
    });
    expect(policy.robots).toEqual({
      serve: true,
      inShadow: "pass",
      sitemaps: ["https://docs.example.com/sitemap.xml"],
      contentSignals: { search: "yes", "ai-input": "no", "ai-train": "no" },
      extra: ["# by hand", "Host: docs.example.com"],
    });
    expect(policy.receipts).toEqual({ enabled: true, keyFile: "keys/receipts.pem" });
    expect(policy.sets).toEqual(
      new Map<string, unknown>([
        ["paths", ["/a", "/b"]],
        ["ports", [80n, 443n]],
        ["nothing", []],
      ]),
    );
    expect(policy.defaultRule.action).toMatchObject({ kind: "block", status: 451 });
  });

  test("takes crawlers from the catalog, and its own words win over the catalog's", () => {
    const policy = compileGood(readFileSync(`${FIXTURES}good/every-key.yaml`, "utf8"));
    expect(policy.bots.map((bot) => `${bot.id}/${bot.class}`)).toEqual([
      "gptbot/ai_search",
      "googlebot/search",
      "bingbot/search",
      "own/monitoring",
    ]);
  });

  test("an own bot stands in for the catalog's of the same id", () => {
    const policy = compileGood(
      `${SITE}bots:
  - use: all
  - { id: gptbot, class: mine, match: { user_agents: [GPTBot] } }
`,
    );
    expect(policy.bots.filter((bot) => bot.id === "gptbot").map((bot) => bot.class)).toEqual([
      "mine",
    ]);
  });

  test("writes suffixes lower-case and with a dot, so that they match at a label alone", () => {
    const policy = compileGood(readFileSync(`${FIXTURES}good/every-key.yaml`, "utf8"));
    const own = policy.bots.find((bot) => bot.id === "own");
    expect(own?.verifiers[1]).toEqual({
      kind: "reverse_dns",
      allowedSuffixes: [".monitor.example.com", ".probe.example.net"],
    });
  });

  test("runs rules by priority, and as written where priorities are equal", () => {
    const rule = (id: string, priority: number) =>
      `  - { id: ${id}, priority: ${priority}, when: "true", action: allow }\n`;
    const policy = compileGood(
      `${SITE}rules:\n${rule("c", 30)}${rule("a", 10)}${rule("b", 10)}${rule("z", -1)}`,
    );
    expect(policy.rules.map(({ id }) => id)).toEqual(["z", "a", "b", "c"]);
  });

  test.each(["0.30", "0.002", "10", "999999999999.000000000001"])(
    "keeps a price of %s to the digit",
    (amount) => {
      const policy = compileGood(
        `${SITE}rules:
  - id: a
    priority: 1
    when: bot.claimed
    action: { type: allow_metered, price: { amount: ${amount}, currency: USD } }
`,
      );
      expect(policy.rules[0]?.action).toEqual({
        kind: "allow_metered",
        price: { amount, currency: "USD", unit: "request" },
      });
    },
  );

  test("a limit on a header knows it in any case", () => {
    const policy = compileGood(readFileSync(`${FIXTURES}good/every-key.yaml`, "utf8"));
    expect(policy.rules.find(({ id }) => id === "third")?.action).toEqual({
      kind: "rate_limit",
      limit: { key: { kind: "header", name: "x-api-key" }, rpm: 10, burst: 3 },
    });
  });
});

describe("a policy with faults", () => {
  const names = yamlFilesIn("bad");

  test("has at least sixty examples", () => {
    expect(names.length).toBeGreaterThanOrEqual(60);
  });

  test.each(names)("says where each is and what would be right: %s", (name) => {
    const text = readFileSync(`${FIXTURES}bad/${name}`, "utf8");
    const expected = readFileSync(`${FIXTURES}bad/${name.replace(".yaml", ".errors")}`, "utf8");
    expect(`${faultLines(text).join("\n")}\n`).toBe(expected);
  });

  test("never repeats a control character of the file", () => {
    const text = `${SITE}runtime: { fail_mode: "a\\u001b[31m\\u0000\\u2028b" }\n`;
    const [line = ""] = faultLines(text);
    expect(line).not.toMatch(/[\p{Cc}\p{Zl}]/u);
  });
});

test.each([
  [65_536, "(loads)"],
  [65_537, "2:53: rules[0].when: is longer than 65536 characters"],
])("a condition of %s characters: %s", (length, line) => {
  const condition = `"" != "${"x".repeat(length - 8)}"`;
  expect(condition).toHaveLength(length);
  const rules = `rules: [{ id: a, priority: 1, action: allow, when: '${condition}' }]`;
  expect(faultLines(`${SITE}${rules}`)).toEqual([line]);
});

describe("several policies", () => {
  const site = (id: string, host: string) => ({
    file: `${id}.yaml`,
    text: `site: { id: ${id}, host: "${host}" }\n`,
  });

  test("each host is answered by the most exact site", () => {
    const compiled = compilePolicies(
      [site("all", "*"), site("wild", "*.example.com"), site("exact", "www.example.com")],
      { catalog },
    );
    if (compiled.kind === "faulty") throw new Error(JSON.stringify(compiled.errors));
    const idOf = (host: string) => compiled.findSite(host)?.site.id;
    expect(idOf("www.example.com")).toBe("exact");
    expect(idOf("docs.example.com")).toBe("wild");
    expect(idOf("a.docs.example.com")).toBe("all");
    expect(idOf("example.com")).toBe("all");
  });

  test("a host that two sites claim is a fault of the second", () => {
    const second = { file: "b.yaml", text: "site:\n  id: b\n  hosts: [b.example, a.example]\n" };
    expect(compilePolicies([site("a", "A.example:80"), second], { catalog })).toMatchObject({
      kind: "faulty",
      errors: [
        {
          file: "b.yaml",
          line: 3,
          column: 22,
          path: "site.hosts[1]",
          message: "`a.example` is a host of `a.yaml` already",
        },
      ],
    });
  });

  test("an id that two sites have is a fault of the second", () => {
    const compiled = compilePolicies(
      [site("a", "a.example"), { ...site("a", "b.example"), file: "b.yaml" }],
      { catalog },
    );
    expect(compiled).toMatchObject({
      errors: [{ file: "b.yaml", path: "site.id", message: "`a` is the id of `a.yaml` already" }],
    });
  });

  test("all faults of all files are told at once", () => {
    const broken = (file: string) => ({ file, text: "site: {}\n" });
    const compiled = compilePolicies([broken("a.yaml"), broken("b.yaml")], { catalog });
    if (compiled.kind === "policies") throw new Error("compiled");
    expect(new Set(compiled.errors.map(({ file }) => file))).toEqual(new Set(["a.yaml", "b.yaml"]));
  });
});

describe("the hash of a policy", () => {
  const rule = (when: string) =>
    `rules: [{ id: a, priority: 1, when: "${when}", action: allow }]\n`;

  test("is that of its meaning, not of its spelling", () => {
    const short = compileGood(`${SITE}rules: []\n`);
    const long = compileGood(
      `# a comment\nversion: crawlwall.io/v1\nruntime: { fail_mode: block }\nsite:\n  mode: shadow\n  hosts: [DOCS.example.com]\n  id: docs\n`,
    );
    expect(long.hash).toBe(short.hash);
    expect(short.hash).toMatch(/^[0-9a-f]{64}$/);
  });

  test("changes with a condition", () => {
    expect(compileGood(SITE + rule("bot.claimed")).hash).not.toBe(
      compileGood(SITE + rule("bot.verified")).hash,
    );
  });
});

describe("warnings of a policy that loads", () => {
  function warningsOf(text: string): readonly string[] {
    const compiled = compile(SITE + text);
    if (compiled.kind === "faulty") throw new Error(JSON.stringify(compiled.errors));
    return compiled.warnings.map(({ code, line, column, path }) =>
      [code, `${line}:${column}`, path].join(" "),
    );
  }

  test.each([
    "cookie",
    "authorization",
    "range",
    "if-none-match",
    "x-forwarded-for",
    "x-original-url",
    "cf-connecting-ip",
    "x_custom",
    "a.b",
    "x-crawlwall-key",
  ])("a rule that reads %s, which Caddy keeps from us, is noticed", (name) => {
    const text = `rules:
  - id: a
    priority: 1
    when: header("${name}") == "1"
    action: allow
`;
    expect(warningsOf(text)).toContain("header_withheld 5:11 rules[0].when");
  });

  test("a rule that reads a header which reaches us is not", () => {
    const text = `rules:
  - { id: a, priority: 1, when: 'header("Accept-Language") == "de"', action: allow }
`;
    expect(warningsOf(text)).toEqual([]);
  });

  test("a limit on a header that Caddy keeps from us is noticed", () => {
    const text = `rules:
  - id: a
    priority: 1
    when: bot.claimed
    action: { type: rate_limit, limit: { key: request.headers.Cookie, rpm: 1 } }
`;
    expect(warningsOf(text)).toContain("header_withheld 6:47 rules[0].action.limit.key");
  });

  test("a header that may be absent is noticed where it is read", () => {
    const text = `rules:
  - id: a
    priority: 1
    when: >
      bot.claimed &&
      request.headers["accept"] == "x"
    action: allow
`;
    expect(warningsOf(text)).toContain("may_fault 7:22 rules[0].when");
  });

  test("two rules of one priority are noticed at the second", () => {
    const text = `rules:
  - { id: a, priority: 1, when: bot.claimed, action: allow }
  - { id: b, priority: 1, when: bot.verified, action: allow }
`;
    expect(warningsOf(text)).toContain("tied_priority 4:24 rules[1].priority");
  });

  test("a list that is read over http is noticed", () => {
    const text = `bots:
  - id: a
    class: search
    match: { user_agents: [Abot] }
    verify: { type: ip_ranges, sources: ["http://lists.example.com/a.json"] }
`;
    expect(warningsOf(text)).toEqual(["insecure_source 6:5 bots[0].verify"]);
  });

  test("a receipt that is asked for and never made is noticed", () => {
    const text = `receipts: { enabled: false }
rules:
  - { id: a, priority: 1, when: bot.claimed, action: allow, audit: { receipt: true } }
`;
    expect(warningsOf(text)).toContain("receipts_disabled 4:79 rules[0].audit.receipt");
  });
});
