import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { DecisionEvent } from "../../src/core/event.ts";
import { eventToRow } from "../../src/core/ledger/row.ts";
import { policyDocument } from "../../src/core/policy/hash.ts";
import { ask } from "../io/ledger/contract.ts";
import { sampleEvent } from "../io/ledger/sample.ts";
import { type Ran, runCommandLine } from "../support/command-line.ts";
import { policyFrom } from "../support/compile.ts";

const POLICY = policyFrom(`
site: { id: docs, host: docs.example.com, mode: enforce }
rules:
  - { id: archive, priority: 10, when: 'request.path.startsWith("/archive")', action: { type: block, status: 403, reason: no_archive } }
  - { id: by_header, priority: 20, when: 'header("x-team") == "a"', action: { type: allow } }
`);

const HOUR = 3_600_000;

function ago(hours: number): string {
  return new Date(Date.now() - hours * HOUR).toISOString();
}

const blocked = sampleEvent({
  ts: ago(1),
  action: "block",
  rule_id: "archive",
  reason: "no_archive",
  status: 403,
  policy_hash: POLICY.hash,
});

const EVENTS: readonly DecisionEvent[] = [
  sampleEvent({ ts: ago(72), path: "/old" }),
  blocked,
  sampleEvent({ ts: ago(2), path: "/a", user_agent: 'quoted "agent", with comma' }),
  sampleEvent({
    ts: ago(3),
    site_id: "shop",
    mode: "shadow",
    enforced: false,
    would_block: true,
    action: "block",
    rule_id: "strict",
    bot_id: "googlebot",
    bot_class: "search",
    claimed: true,
    verified: true,
    verification: "verified",
  }),
];

let dataDir: string;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "crawlwall-ledger-cli-"));
  await ask("sqlite:", dataDir, async (query) => {
    const document = policyDocument(POLICY);
    await query("keepPolicies", [{ hash: POLICY.hash, siteId: "docs", document }]);
    await query("append", { rows: JSON.stringify(EVENTS.map(eventToRow)), retried: false });
    await query("sign", undefined);
  });
});

afterAll(() => rmSync(dataDir, { recursive: true }));

/** Runs `crawlwall ledger …` in this process, on the ledger of these tests. */
function run(...args: readonly string[]): Promise<Ran> {
  const place = args.includes("--data-dir") ? [] : ["--data-dir", dataDir];
  return runCommandLine(["ledger", ...args, ...place]);
}

describe("ledger report", () => {
  test("counts the last 24 hours as JSON, with the names of the contract first", async () => {
    const { code, out } = await run("report", "--json");
    expect(code).toBe(0);
    const report = JSON.parse(out);
    expect(report).toMatchObject({ requests: 3, allowed: 1, blocked: 1, would_block: 1 });
    expect(Object.keys(report)).toEqual(
      expect.arrayContaining(
        "since requests allowed blocked would_block rate_limited would_rate_limit metered verifier_errors by_bot by_rule top_paths".split(
          " ",
        ),
      ),
    );
  });

  test("shows people what was blocked and what enforcing would block, search crawlers first", async () => {
    const { out } = await run("report", "--since", "30d");
    expect(out).toMatch(/^Requests +4$/m);
    expect(out).toMatch(/^Blocked +1$/m);
    expect(out).toMatch(/^Would block +1$/m);
    expect(out).toMatch(/Bot .*Verified +Spoofed .*Blocked +Would block/);
    expect(out).toContain(
      "Look first: verified googlebot, a search crawler, would be refused 1 time by strict",
    );
  });

  test("counts one site, and a time between two others", async () => {
    expect(JSON.parse((await run("report", "--json", "--site", "shop")).out).requests).toBe(1);
    const window = ["--since", ago(73), "--until", "71h"];
    expect(JSON.parse((await run("report", "--json", ...window)).out).requests).toBe(1);
  });

  test.each([
    [["--since", "soon"], "--since: `soon` is neither a duration nor a time"],
    [["--since", "1h", "--until", "2h"], "`--since` is not before `--until`"],
    [["--watch", "--json"], "`--watch` draws for people"],
  ])("says what is wrong: %j", async (args, message) => {
    const { code, notes } = await run("report", ...args);
    expect(code).toBe(2);
    expect(notes).toContain(message);
  });
});

describe("a ledger that is not there", () => {
  test.each(["report", "export", "verify"])("is not made by %s", async (command) => {
    const empty = mkdtempSync(join(tmpdir(), "crawlwall-none-"));
    const { code, out, notes } = await run(command, "--data-dir", empty);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(notes).toContain(`no ledger at \`${join(empty, "ledger.db")}\``);
    expect(statSync(join(empty, "ledger.db"), { throwIfNoEntry: false })).toBeUndefined();
    rmSync(empty, { recursive: true });
  });

  test("is told from a fault of the command, and without the password", async () => {
    const { code, notes } = await run("report", "--ledger", "postgres://u:secret@127.0.0.1:1/x");
    expect(code).toBe(2);
    expect(notes).toContain("--ledger: cannot be reached: ");
    expect(notes).not.toContain("secret");
  });

  test("is told from other files and other versions", async () => {
    const path = join(dataDir, "other.db");
    const other = new DatabaseSync(path);
    other.exec("create table t (x)");
    other.close();
    expect((await run("report", "--ledger", `sqlite:${path}`)).notes).toContain("not a ledger");
    writeFileSync(path, "no database at all, only some text that is long enough".repeat(20));
    expect((await run("report", "--ledger", `sqlite:${path}`)).code).toBe(2);
    const newer = join(dataDir, "newer.db");
    await ask(`sqlite:${newer}`, dataDir, (query) => query("open", undefined));
    const database = new DatabaseSync(newer);
    database.exec("pragma user_version = 99");
    database.close();
    const { notes } = await run("report", "--ledger", `sqlite:${newer}`);
    expect(notes).toMatch(/schema 99, newer than \d+, .*upgrade crawlwall/);
  });

  test("is refused by kind, without the password that was given", async () => {
    const { code, notes } = await run("report", "--ledger", "mysql://user:s3cret@db/x");
    expect(code).toBe(2);
    expect(notes).toContain("unknown kind of ledger `mysql:`");
    expect(notes).not.toContain("s3cret");
  });
});

describe("ledger export", () => {
  test("writes one line of JSON an event, oldest first, and what was not recorded is null", async () => {
    const { code, out } = await run("export", "--format", "jsonl");
    expect(code).toBe(0);
    const events = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(events.map(({ path }) => path)).toEqual(["/old", "/archive/a", "/a", "/archive/a"]);
    expect(events[0]).toMatchObject({ query: null, shadowed: [], writer_id: expect.any(String) });
  });

  test("writes CSV with a header, arrays as JSON", async () => {
    const { out } = await run("export", "--format", "csv", "--since", "2h", "--site", "docs");
    const [header, ...lines] = out.trimEnd().split("\r\n");
    expect(header).toMatch(/^id,ts,request_id,/);
    expect(lines).toHaveLength(1);
  });
});

describe("ledger explain", () => {
  test("shows one decision whole, each rule considered", async () => {
    const { code, out } = await run("explain", `urn:uuid:${blocked.id}`);
    expect(code).toBe(0);
    expect(out).toContain("decision     block by archive");
    expect(out).toContain("> archive (priority 10): matches");
    expect(out).toContain("  by_header (priority 20): not considered");
  });

  test("prints JSON, and tells where there is no such event", async () => {
    const { out } = await run("explain", blocked.id, "--json");
    expect(JSON.parse(out)).toMatchObject({
      event: { id: blocked.id },
      readings: ["/archive/a"],
      note: null,
    });
    const missing = await run("explain", "01a222eb-878e-7000-8000-000000000bb7");
    expect(missing).toMatchObject({ code: 2, out: "" });
    expect(missing.notes).toContain("no event `01a222eb");
  });
});

describe("ledger verify and vacuum", () => {
  test("verify finds an edit with exit code 1, and vacuum says how many went", async () => {
    const copy = mkdtempSync(join(tmpdir(), "crawlwall-copy-"));
    await ask("sqlite:", copy, (query) =>
      query("append", { rows: JSON.stringify(EVENTS.map(eventToRow)), retried: false }),
    );
    expect(await run("verify", "--data-dir", copy)).toMatchObject({ code: 0 });
    const vacuumed = await run("vacuum", "--older-than", "2d", "--json", "--data-dir", copy);
    expect(JSON.parse(vacuumed.out)).toEqual({ removed: 1, removed_audits: 0 });
    expect(await run("verify", "--data-dir", copy)).toMatchObject({ code: 0 });
    const database = new DatabaseSync(join(copy, "ledger.db"));
    database.exec("update events set path = '/forged' where path = '/a'");
    database.close();
    const { code, out } = await run("verify", "--data-dir", copy);
    expect(code).toBe(1);
    expect(out).toMatch(/^edited: \w+\.docs: row 3 was edited/m);
    rmSync(copy, { recursive: true });
  });

  test("verify prints what to keep elsewhere, and holds the ledger to it later", async () => {
    const printed = await run("verify", "--json");
    const result = JSON.parse(printed.out);
    expect(result).toMatchObject({ valid: true, unknown_keys: [], public_key: { crv: "Ed25519" } });
    const file = join(dataDir, "kept.json");
    writeFileSync(file, printed.out);
    expect(await run("verify", "--against", file)).toMatchObject({ code: 0 });
    const key = join(dataDir, "public.jwk");
    writeFileSync(key, JSON.stringify(result.public_key));
    expect(await run("verify", "--public-key", key)).toMatchObject({ code: 0 });
    const { code, notes } = await run("verify", "--public-key", file);
    expect(code).toBe(2);
    expect(notes).toContain("is no key; write PEM or a JWK");
  });

  test("a stranger's checkpoints are not believed, and their key is named", async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), "crawlwall-elsewhere-"));
    const url = `sqlite:${join(dataDir, "ledger.db")}`;
    const { code, notes } = await run("verify", "--ledger", url, "--data-dir", elsewhere);
    expect(code).toBe(0);
    expect(notes).toMatch(/signed by key [\w-]{43} are not believed; name it with --public-key/);
    rmSync(elsewhere, { recursive: true });
  });

  test("vacuum wants a duration", async () => {
    const { code, notes } = await run("vacuum", "--older-than", "a month");
    expect(code).toBe(2);
    expect(notes).toContain("--older-than: `a month` is no duration; write `30d` or `12h`");
  });
});

test("the ledger, its key and its name are for their owner alone", () => {
  for (const name of ["ledger.db", "ledger-key.pem", "ledger-instance"]) {
    expect(statSync(join(dataDir, name)).mode & 0o777).toBe(0o600);
  }
});
