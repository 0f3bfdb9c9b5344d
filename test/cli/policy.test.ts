import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Ran, runCommandLine } from "../support/command-line.ts";
import { startProgram } from "../support/program.ts";
import { root } from "../support/programs.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "crawlwall-policy-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function run(...args: readonly string[]): Promise<Ran> {
  return runCommandLine(["policy", ...args]);
}

function write(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

const RULES = readFileSync(`${root}test/fixtures/policies/good/seed-recipes.yaml`, "utf8");

const SITE = "site: { id: docs, hosts: [docs.example.com, www.example.com], mode: enforce }\n";

const LISTED = `${SITE}bots:
  - id: gptbot
    class: ai_training
    match: { user_agents: [GPTBot] }
    verify: { type: ip_ranges, sources: [{ file: gptbot.json }] }
rules:
  - id: spoofed
    priority: 10
    when: bot.claimed && !bot.verified
    action: { type: block, status: 403, reason: spoofed_bot }
  - id: noted
    priority: 20
    when: request.path == "/noted"
    action: { type: block, status: 410, reason: gone }
    mode: shadow
  - id: slow
    priority: 30
    when: pathUnder(request.path, "/slow")
    action: { type: rate_limit, limit: { key: request.ip, rpm: 1 } }
  - id: by_header
    priority: 40
    when: request.headers["x-a"] == "1" && request.method == "POST" && request.query == "q=1"
    action: { type: block, reason: by_header }
`;

function listed(): string {
  write("gptbot.json", '{"prefixes": [{"ipv4Prefix": "20.125.66.80/28"}]}');
  return write("crawlwall.yaml", LISTED);
}

describe("the commands of the policy guide, as printed", () => {
  const program = (...args: readonly string[]) => {
    const started = startProgram(process.execPath, [`${root}bin/crawlwall.js`, ...args], {
      cwd: folder,
    });
    return started.ended.then((code) => ({ code, out: started.output() }));
  };

  test("check, and the fixtures, on an enforced and on a shadow policy", async () => {
    const fixtures = `${root}examples/policy-fixtures.yaml`;
    write("crawlwall.yaml", RULES);
    const checked = await program("policy", "check", "--config", "./crawlwall.yaml");
    expect(checked).toMatchObject({ code: 0 });
    const args = ["policy", "test", "--config", "./crawlwall.yaml", "--fixtures", fixtures];
    expect(await program(...args)).toMatchObject({
      code: 0,
      out: expect.stringContaining("1 passed, 0 failed"),
    });
    write("crawlwall.yaml", RULES.replace("mode: enforce", "mode: shadow"));
    expect(await program(...args)).toMatchObject({
      code: 0,
      out: expect.stringContaining("1 passed, 0 failed"),
    });
  });
});

describe("policy check", () => {
  test("a good policy is fine", async () => {
    const { code, out } = await run("check", "--config", write("a.yaml", SITE));
    expect(code).toBe(0);
    expect(out).toContain("site `docs`, enforce, no bots, no rules");
  });

  test("faults go to stdout with their places, and the exit code is 1", async () => {
    const file = write("a.yaml", `${SITE}rule: []\nruntime: { fail_mode: open }\n`);
    const { code, out } = await run("check", "--config", file);
    expect(code).toBe(1);
    expect(out.split("\n").slice(0, 3)).toEqual([
      `${file}:2:1: rule: unknown key \`rule\`; did you mean \`rules\`?`,
      `${file}:3:23: runtime.fail_mode: unknown value \`open\`; write one of \`block\`, \`allow\``,
      `${file}: 2 faults, no warnings`,
    ]);
  });

  test("--json prints one document", async () => {
    const file = write("a.yaml", `${SITE}rule: []\n`);
    const { code, out, notes } = await run("check", "--config", file, "--json");
    expect(code).toBe(1);
    expect(notes).toBe("");
    expect(JSON.parse(out)).toEqual({
      valid: false,
      errors: [
        {
          file,
          line: 2,
          column: 1,
          path: "rule",
          message: "unknown key `rule`; did you mean `rules`?",
        },
      ],
      warnings: [],
      evaluation: [],
    });
  });

  test("--json tells how far the rules are folded for each crawler", async () => {
    const { out } = await run("check", "--config", listed(), "--json");
    expect(JSON.parse(out)).toMatchObject({
      valid: true,
      evaluation: [{ site: "docs", lists: 5, shortest: 1, longest: 3, reference: [] }],
    });
  });

  test("what a served robots.txt cannot say is told at its rule", async () => {
    const file = write("a.yaml", RULES);
    const { code, out } = await run("check", "--config", file, "--json");
    expect(code).toBe(0);
    expect(JSON.parse(out).warnings).toContainEqual({
      file,
      line: expect.any(Number),
      column: expect.any(Number),
      path: "rules[3]",
      code: "robots_limit_above_60",
      message: expect.stringMatching(/^robots\.txt: /),
    });
  });

  test("a list or a key that is not there is told, from the policy's folder on", async () => {
    const signer = "receipts: { signer: { key_file: keys/a.pem } }\n";
    const file = write("a.yaml", LISTED.replace("gptbot.json", "absent.json") + signer);
    const { out } = await run("check", "--config", file);
    expect(out).toContain("bots[0].verify: `absent.json` is not there");
    expect(out).toContain("receipts.signer.key_file: `keys/a.pem` is not there");
    expect((await run("check", "--config", listed())).out).not.toContain("missing_file");
  });

  test("lint tells what is probably not meant, at its place", async () => {
    const file = write("a.yaml", `${SITE}sets:\n  unused: [a]\n`);
    const { code, out } = await run("check", "--config", file);
    expect(code).toBe(0);
    expect(out).toContain(`${file}:3:3: sets.unused: `);
    expect(out).toContain("(warning unused_set)");
    expect((await run("check", "--config", file, "--strict")).code).toBe(1);
  });

  const WARNED = `${SITE}rules:
  - { id: a, priority: 1, when: 'header("cookie") == "x"', action: allow }
`;

  test("warnings are no fault, unless --strict says so", async () => {
    const file = write("a.yaml", WARNED);
    expect((await run("check", "--config", file)).code).toBe(0);
    expect((await run("check", "--config", file)).out).toContain("(warning header_withheld)");
    expect((await run("check", "--config", file, "--strict")).code).toBe(1);
  });

  test("all files of a folder are checked", async () => {
    write("a.yaml", "site: {}\n");
    write("b.yaml", "x: 1\n");
    const { code, out } = await run("check", "--config", folder);
    expect(code).toBe(1);
    expect(out).toContain(join(folder, "a.yaml"));
    expect(out).toContain(join(folder, "b.yaml"));
  });

  test("a file that is not there is another exit code", async () => {
    const { code, out, notes } = await run("check", "--config", join(folder, "no.yaml"));
    expect(code).toBe(2);
    expect(out).toBe("");
    expect(notes).toContain("no.yaml");
  });

  test("a missing flag is another exit code", async () => {
    expect((await run("check")).code).toBe(2);
  });
});

describe("policy eval", () => {
  const GPTBOT = ["--ua", "GPTBot/1.1", "--ip", "20.125.66.81"];

  async function evaluate(...args: readonly string[]) {
    const ran = await run("eval", "--config", listed(), "--json", ...args);
    return { ...ran, json: JSON.parse(ran.out) as Readonly<Record<string, unknown>> };
  }

  test("says who asked, how sure that is, and what is decided", async () => {
    const { code, json } = await evaluate(...GPTBOT, "--path", "/a/../b");
    expect(code).toBe(0);
    expect(json).toEqual({
      site: "docs",
      mode: "enforce",
      bot: {
        id: "gptbot",
        name: "gptbot",
        class: "ai_training",
        operator: null,
        claimed: true,
        verified: true,
        verification: "verified",
      },
      client_ip: "20.125.66.81",
      readings: ["/b", "/a/../b"],
      decision: {
        action: "allow",
        rule_id: "runtime.default_action",
        priority: null,
        status: 200,
        reason: null,
        enforced: true,
        reading: null,
      },
      shadowed: [],
      faults: [],
    });
  });

  test("a rule that cannot be evaluated is named, and the others still run", async () => {
    const person = ["--ua", "x", "--ip", "203.0.113.9", "--path", "/?q=1", "--method", "POST"];
    const { json } = await evaluate(...person);
    expect(json).toMatchObject({
      decision: { rule_id: "runtime.default_action" },
      faults: [{ rule_id: "by_header", message: expect.any(String) }],
    });
  });

  test("a spoofer is found out by the list", async () => {
    const { json } = await evaluate("--ua", "GPTBot/1.1", "--ip", "203.0.113.9", "--path", "/");
    expect(json).toMatchObject({
      bot: { verified: false, verification: "refuted" },
      decision: { action: "block", rule_id: "spoofed", priority: 10, status: 403 },
    });
  });

  test("an outcome that is told needs no list", async () => {
    const { json } = await evaluate(...GPTBOT, "--path", "/", "--verification", "refuted");
    expect(json).toMatchObject({ decision: { rule_id: "spoofed" } });
  });

  test("shadow rules that match are listed", async () => {
    const { json } = await evaluate("--ua", "x", "--ip", "203.0.113.9", "--path", "/noted");
    expect(json).toMatchObject({
      decision: { rule_id: "runtime.default_action" },
      shadowed: [{ rule_id: "noted", action: "block", status: 410 }],
    });
  });

  test("method, header fields and query reach the rules", async () => {
    const person = ["--ua", "x", "--ip", "203.0.113.9", "--path", "/?q=1", "--method", "POST"];
    const { json } = await evaluate(...person, "--header", "X-A: 1");
    expect(json).toMatchObject({ decision: { rule_id: "by_header", reason: "by_header" } });
  });

  test("a limit that is not reached is a 200", async () => {
    const { json } = await evaluate("--ua", "x", "--ip", "203.0.113.9", "--path", "/slow");
    expect(json).toMatchObject({ decision: { action: "rate_limit", status: 200 } });
  });

  test("a path that nobody can read is refused as serve refuses it", async () => {
    const { json } = await evaluate("--ua", "x", "--ip", "203.0.113.9", "--path", "/%zz");
    expect(json).toMatchObject({
      readings: [],
      decision: { rule_id: "runtime.malformed_request", status: 400 },
    });
  });

  test("a check that cannot complete is an outcome: the note says what failed", async () => {
    const file = write("crawlwall.yaml", LISTED.replace("gptbot.json", "absent.json"));
    const ran = await run("eval", "--config", file, ...GPTBOT, "--path", "/", "--json");
    expect(ran.code).toBe(0);
    expect(ran.notes).toContain("absent.json");
    expect(JSON.parse(ran.out)).toMatchObject({
      bot: { verification: "unavailable" },
      decision: { rule_id: "runtime.verifier_error", status: 503 },
    });
  });

  test("is readable for a person", async () => {
    const { out } = await run("eval", "--config", listed(), ...GPTBOT, "--path", "/noted");
    expect(out).toContain("bot          gptbot (ai_training), verified");
    expect(out).toContain("shadow rule  noted: block");
  });

  test.each([
    ["an address that is none", ["--ua", "x", "--ip", "junk", "--path", "/"]],
    [
      "a host that the policy does not serve",
      [...GPTBOT, "--path", "/", "--host", "other.example"],
    ],
    ["an outcome that is none", [...GPTBOT, "--path", "/", "--verification", "spoofed"]],
    ["a header that is none", [...GPTBOT, "--path", "/", "--header", "nonsense"]],
    ["a header that the proxy sets", [...GPTBOT, "--path", "/", "--header", "X-Forwarded-For: 1"]],
  ])("cannot run with %s", async (_, args) => {
    const { code, out, notes } = await run("eval", "--config", listed(), ...args);
    expect(code).toBe(2);
    expect(out).toBe("");
    expect(notes).not.toBe("");
  });
});

describe("policy test", () => {
  function fixture(expectation: string, request = "{ user_agent: GPTBot/1.1, ip: 20.125.66.81 }") {
    return `fixtures:\n  - { name: a case, request: ${request}, expect: ${expectation} }\n`;
  }

  async function runFixtures(text: string, config = listed()) {
    const file = write("fixtures.yaml", text);
    const ran = await run("test", "--config", config, "--fixtures", file, "--json");
    return { ...ran, json: ran.code === 2 ? undefined : JSON.parse(ran.out) };
  }

  test("every field can be expected", async () => {
    const { code, json } = await runFixtures(
      fixture(`{ bot_id: gptbot, bot_class: ai_training, claimed: true, verified: true,
        verification: verified, rule_id: runtime.default_action, action: allow, reason: null,
        status: 200, enforced: true, shadowed: [] }`),
    );
    expect(json).toEqual({
      passed: 1,
      failed: 0,
      cases: [{ name: "a case", ok: true, differences: [] }],
    });
    expect(code).toBe(0);
  });

  test.each([
    ["bot_id", "unknown", "gptbot"],
    ["bot_class", "search", "ai_training"],
    ["claimed", false, true],
    ["verified", false, true],
    ["verification", "refuted", "verified"],
    ["rule_id", "spoofed", "runtime.default_action"],
    ["action", "block", "allow"],
    ["reason", "spoofed_bot", null],
    ["status", 403, 200],
    ["enforced", false, true],
    ["shadowed", ["noted"], []],
  ])("a %s that differs fails, and says how", async (field, expected, actual) => {
    const { code, json } = await runFixtures(fixture(JSON.stringify({ [field]: expected })));
    expect(code).toBe(1);
    expect(json.cases).toEqual([
      { name: "a case", ok: false, differences: [{ field, expected, actual }] },
    ]);
  });

  test("a request may hold method, host, headers, query and an outcome", async () => {
    const request = `{ user_agent: GPTBot, method: POST, host: "WWW.example.com:443",
      headers: { X-A: "1" }, query: q=1, verification: verified }`;
    const { code } = await runFixtures(fixture("{ rule_id: by_header }", request));
    expect(code).toBe(0);
  });

  test("each case starts with full buckets", async () => {
    const one = "  - { name: a, request: { path: /slow }, expect: { status: 200 } }\n";
    const { json } = await runFixtures(`fixtures:\n${one}${one}${one}`);
    expect(json).toMatchObject({ passed: 3 });
  });

  test("a check that could not complete fails the case, and names the source", async () => {
    const config = write("crawlwall.yaml", LISTED.replace("gptbot.json", "absent.json"));
    const { code, json } = await runFixtures(fixture("{ status: 503 }"), config);
    expect(code).toBe(1);
    expect(json.cases[0].differences).toEqual([
      {
        field: "verification",
        expected: "a completed check",
        actual: expect.stringMatching(/^unavailable: .*absent\.json/),
      },
    ]);
  });

  test("unless it is what the case expects", async () => {
    const config = write("crawlwall.yaml", LISTED.replace("gptbot.json", "absent.json"));
    const expected = "{ verification: unavailable, status: 503, rule_id: runtime.verifier_error }";
    expect((await runFixtures(fixture(expected), config)).code).toBe(0);
  });

  test("a host that the policy does not serve fails the case", async () => {
    const { json } = await runFixtures(fixture("{ status: 200 }", "{ host: other.example }"));
    expect(json.cases[0].differences).toEqual([
      { field: "host", expected: "a host of the policy", actual: "other.example" },
    ]);
  });

  test.each([
    ["a misspelt expectation", fixture("{ acton: block }"), "did you mean `action`?"],
    ["an action that is none", fixture("{ action: deny }"), "unknown value `deny`"],
    ["no expectation", fixture("{}"), "expects nothing"],
    ["an address that is none", fixture("{ status: 200 }", "{ ip: junk }"), "is no address"],
    ["no case", "fixtures: []\n", "write at least one"],
    ["no YAML", "fixtures: [\n", "not valid YAML"],
  ])("a fixture file with %s does not run", async (_, text, message) => {
    const { code, out, notes } = await runFixtures(text);
    expect(code).toBe(2);
    expect(out).toBe("");
    expect(notes).toContain(message);
  });

  test("is readable for a person", async () => {
    const file = write("fixtures.yaml", fixture("{ status: 403 }"));
    const { out } = await run("test", "--config", listed(), "--fixtures", file);
    expect(out).toBe("FAIL a case\n     status: expected 403, was 200\n0 passed, 1 failed\n");
  });
});

describe("policy schema", () => {
  test("prints the JSON Schema of a policy", async () => {
    const { code, out } = await run("schema");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      additionalProperties: false,
      required: ["site"],
    });
  });
});
