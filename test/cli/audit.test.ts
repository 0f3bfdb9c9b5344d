import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { startProgress } from "../../src/cli/audit/progress.ts";
import { openLedger } from "../../src/io/ledger/open.ts";
import { DELAY_CASES } from "../core/robots/crawl-delay-cases.ts";
import { type Ran, runCommandLine } from "../support/command-line.ts";
import { type RobotsServers, startRobotsServers } from "../support/robots-servers.ts";

let folder: string;
let servers: RobotsServers | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "crawlwall-audit-"));
});

afterEach(async () => {
  await servers?.stop();
  servers = undefined;
  rmSync(folder, { recursive: true });
  vi.restoreAllMocks();
});

function run(...args: readonly string[]): Promise<Ran> {
  return runCommandLine(["audit", ...args, "--data-dir", join(folder, "data")]);
}

function crawlDelay(...args: readonly string[]): Promise<Ran> {
  return run("crawl-delay", ...args);
}

function write(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

async function serve(text: string, count = 1): Promise<RobotsServers> {
  servers = await startRobotsServers(count, (_, response) => {
    response.setHeader("Content-Type", "text/plain");
    response.end(text);
  });
  return servers;
}

async function makeLedger(): Promise<void> {
  const ledger = await openLedger("sqlite:", {
    dataDir: join(folder, "data"),
    log: () => undefined,
  });
  await ledger?.close();
}

const flagged = ["--rate-limit-required", "--allow-private", "--scheme", "http"] as const;

describe("audit crawl-delay", () => {
  test("a host that declares a delay is fine", async () => {
    const [host = ""] = (await serve("User-agent: *\nCrawl-delay: 5\n")).hosts;
    const ran = await crawlDelay("--host", host, ...flagged, "--json");
    expect(ran.code).toBe(0);
    expect(JSON.parse(ran.out)).toMatchObject({
      records: [{ host, robots_status_code: 200, crawl_delay_seconds: 5, audited_agent: "*" }],
      findings: [],
    });
    expect(ran.notes).toBe("");
  });

  test("a host that declares none is found", async () => {
    const [host = ""] = (await serve("User-agent: *\nDisallow:\n")).hosts;
    const ran = await crawlDelay("--host", host, ...flagged, "--agent", "bingbot", "--json");
    expect(ran.code).toBe(1);
    expect(JSON.parse(ran.out)).toMatchObject({
      records: [{ host, crawl_delay_violation: true, effective_user_agent: "*" }],
      findings: [{ trigger: "crawl_delay_missing", host, audited_agent: "bingbot" }],
    });
  });

  test("a host that needs none is recorded, and nothing is found", async () => {
    const [host = ""] = (await serve("")).hosts;
    const ran = await crawlDelay("--host", host, "--allow-private", "--scheme", "http", "--json");
    expect(ran.code).toBe(0);
    expect(JSON.parse(ran.out)).toMatchObject({
      records: [{ rate_limit_required: false, crawl_delay_violation: false }],
      findings: [],
    });
  });

  test("a private address is refused unless it is allowed, and the note says why", async () => {
    const [host = ""] = (await serve("User-agent: *\nCrawl-delay: 5\n")).hosts;
    const ran = await crawlDelay(
      "--host",
      host,
      "--rate-limit-required",
      "--scheme",
      "http",
      "--json",
    );
    expect(ran.code).toBe(1);
    expect(JSON.parse(ran.out)).toMatchObject({
      records: [{ parser_error_code: "FETCH_FAILED", error_detail: "blocked_address" }],
      findings: [{ trigger: "crawl_delay_missing" }, { trigger: "robots_unavailable" }],
    });
    expect(ran.notes).toBe(
      `${host}: blocked_address: \`${host}\` has an address that is not public\n`,
    );
  });

  test("records come in the order of the hosts, for each agent", async () => {
    const { hosts } = await serve("User-agent: *\nCrawl-delay: 5\n", 5);
    const args = hosts.flatMap((host) => ["--host", host]);
    const ran = await crawlDelay(...args, ...flagged, "--agent", "b", "--agent", "a", "--json");
    const { records }: { records: { host: string; audited_agent: string }[] } = JSON.parse(ran.out);
    expect(records.map(({ host, audited_agent }) => [host, audited_agent])).toEqual(
      hosts.flatMap((host) => [
        [host, "b"],
        [host, "a"],
      ]),
    );
  });

  test.each([
    ["nobody", [], "crawlwall: no host to audit; give `--config FILE` or `--host HOST`"],
    [
      "hosts that stand for many",
      ["--host", "*.example.com"],
      "crawlwall: no host to audit; *.example.com stands for many, name one of them",
    ],
    [
      "a URL",
      ["--host", "https://example.com/"],
      "crawlwall: --host: `https://example.com/` is no host; write a name such as `www.example.com`, with a port where it needs one",
    ],
    [
      "two sources",
      ["--host", "a.example", "--config", "x.yaml"],
      "crawlwall: `--config` and `--host` exclude each other",
    ],
    [
      "a flag over a file",
      ["--config", "x.yaml", "--rate-limit-required"],
      "crawlwall: `--rate-limit-required` goes with `--host`; a file says it host by host",
    ],
    ["no file", ["--config", "/no/such.yaml"], "crawlwall: /no/such.yaml: does not exist"],
    [
      "no robots file",
      ["--robots-file", "/no/such.txt"],
      "crawlwall: --robots-file: /no/such.txt cannot be read",
    ],
    [
      "no agent",
      ["--host", "a.example", "--agent", " "],
      "crawlwall: --agent: is empty; write a product token or `*`",
    ],
    [
      "a ledger that is not there",
      ["--host", "a.example", "--ledger", "sqlite:/no/such.db"],
      "crawlwall: no ledger at `/no/such.db`; `crawlwall serve` makes one",
    ],
  ])("cannot run on %s", async (_, args, message) => {
    const ran = await crawlDelay(...args);
    expect(ran).toEqual({ code: 2, out: "", notes: `${message}\n` });
  });

  test("an audit file names hosts and crawlers", async () => {
    const { hosts } = await serve(
      "User-agent: msnbot\nDisallow: /x\n\nUser-agent: *\nCrawl-delay: 5\n",
      2,
    );
    const config = write(
      "audit.yaml",
      `version: crawlwall.io/audit/v1
user_agents: ["*"]
hosts:
  - host: ${hosts[0]}
    scheme: http
    allow_private: true
    rate_limit_required: true
    user_agents: [{name: bingbot, aliases: [msnbot], crawl_delay_fallback: directive}, msnbot]
  - {host: "${hosts[1]}", scheme: http, allow_private: true}
  - {host: "*.example.com", rate_limit_required: true}
`,
    );
    const ran = await crawlDelay("--config", config, "--json");
    expect(ran.code).toBe(1);
    expect(ran.notes).toBe("skipped *.example.com: it stands for many hosts\n");
    expect(JSON.parse(ran.out)).toMatchObject({
      records: [
        { audited_agent: "bingbot", effective_user_agent: "*", crawl_delay_seconds: 5 },
        { audited_agent: "msnbot", effective_user_agent: "msnbot", crawl_delay_seconds: null },
        { audited_agent: "*", rate_limit_required: false, crawl_delay_seconds: 5 },
      ],
      findings: [{ audited_agent: "msnbot", trigger: "crawl_delay_missing" }],
    });
  });

  test("a faulty audit file is told with every fault's place", async () => {
    const config = write(
      "audit.yaml",
      "version: crawlwall.io/audit/v1\nhosts:\n  - {hots: a, rate_limit_required: yes}\n",
    );
    const ran = await crawlDelay("--config", config);
    expect(ran.code).toBe(2);
    expect(ran.notes).toBe(
      `crawlwall: ${config}:3:6: hosts[0].hots: unknown key \`hots\`; did you mean \`host\`?\n` +
        `crawlwall: ${config}:3:36: hosts[0].rate_limit_required: \`yes\` is a text; write \`true\` or \`false\`\n`,
    );
  });

  test("a policy file, or a folder of them, names its sites' hosts and their flag", async () => {
    const file = write(
      "a.yaml",
      "site: {id: a, hosts: [127.0.0.1, '*.a.example'], rate_limit_required: true}\n",
    );
    write("b.yaml", "site: {id: b, host: localhost}\n");
    for (const [path, hosts] of [
      [file, ["127.0.0.1"]],
      [folder, ["127.0.0.1", "localhost"]],
    ] as const) {
      const ran = await crawlDelay("--config", path, "--json");
      expect(ran.code).toBe(1);
      const { records }: { records: { host: string; rate_limit_required: boolean }[] } = JSON.parse(
        ran.out,
      );
      expect(records.map(({ host }) => host)).toEqual(hosts);
      expect(records[0]?.rate_limit_required).toBe(true);
      expect(ran.notes).toContain("skipped *.a.example: it stands for many hosts\n");
    }
  });
});

describe("audit crawl-delay --robots-file", () => {
  test.each(DELAY_CASES)("$why", async ({ text, agent, fallback, ...expected }) => {
    const robots = write("robots.txt", text);
    const [name, ...aliases] = agent;
    const agents = [{ name, aliases, crawl_delay_fallback: fallback ?? "rfc9309" }];
    const config = write(
      "audit.yaml",
      JSON.stringify({
        version: "crawlwall.io/audit/v1",
        hosts: [{ host: "a.example", rate_limit_required: true, user_agents: agents }],
      }),
    );
    const ran = await crawlDelay("--config", config, "--robots-file", robots, "--json");
    const [record] = JSON.parse(ran.out).records;
    const { parser_error_code: code, error_detail: detail } = record;
    expect({
      effective: record.effective_user_agent,
      raw: record.crawl_delay_raw,
      seconds: record.crawl_delay_seconds,
      code: detail === null ? code : `${code} (${detail})`,
      warnings: record.warnings,
    }).toEqual({ ...expected, why: undefined });
    expect(record).toMatchObject({ robots_status_code: null, has_robots_file: true });
    expect(ran.code).toBe(expected.seconds === null ? 1 : 0);
  });

  test("needs no host, and is not stored", async () => {
    await makeLedger();
    const robots = write("robots.txt", "User-agent: *\nCrawl-delay: 5\n");
    const ran = await crawlDelay("--robots-file", robots, "--rate-limit-required", "--json");
    expect(ran.code).toBe(0);
    expect(JSON.parse(ran.out).records).toMatchObject([{ host: "localhost" }]);
    expect(JSON.parse((await run("history", "--host", "localhost", "--json")).out).periods).toEqual(
      [],
    );
  });
});

describe("formats", () => {
  async function format(name: string): Promise<Ran> {
    const robots = write("robots.txt", 'User-agent: *\nCrawl-delay: 10s # <&"\n');
    return await crawlDelay(
      "--robots-file",
      robots,
      "--host",
      "a.example",
      "--rate-limit-required",
      "--format",
      name,
    );
  }

  test("a table says what, why, and what to do", async () => {
    const ran = await format("table");
    expect(ran.code).toBe(1);
    expect(ran.out).toBe(`HOST       AGENT  STATUS  DELAY  VERDICT
a.example  *      -       -      violation
    why   line 2: a unit follows the number; write seconds without one (\`10s\`)
    do    publish \`Crawl-delay: 10\`, a whole number from 1 to 30, on a line of its own in the group \`User-agent: *\`
    note  Bing, ClaudeBot and MJ12bot honour Crawl-delay; Google, Yandex, Baidu and Amazonbot ignore it, so limit them by a rule as well
`);
  });

  test("CSV has the columns of a record", async () => {
    const [head, line, ...rest] = (await format("csv")).out.split("\r\n");
    expect(head).toBe(
      "host,rate_limit_required,robots_status_code,has_robots_file,effective_user_agent,crawl_delay_raw,crawl_delay_seconds,has_valid_crawl_delay,crawl_delay_violation,parser_error_code,checked_at,scheme,audited_agent,content_type,response_size,response_bytes,body_sha256,final_url,redirects,attempts,error_class,error_detail,line,warnings",
    );
    expect(line).toMatch(
      /^a\.example,true,,true,\*,10s,,false,true,INVALID_VALUE,20\S+Z,https,\*,,37,,[0-9a-f]{64},,\[\],0,value,unit_suffix,2,\[\]$/,
    );
    expect(rest).toEqual([""]);
  });

  test("JUnit fails a test for each record with findings", async () => {
    const { out } = await format("junit");
    expect(out).toContain('<testsuite name="crawl-delay" tests="1" failures="1">');
    expect(out).toContain('<testcase classname="a.example" name="*">');
    expect(out).toContain('<failure type="crawl_delay_missing" message="This host is configured');
  });

  test("SARIF has a result at the line of each finding", async () => {
    const { out } = await format("sarif");
    expect(JSON.parse(out)).toMatchObject({
      version: "2.1.0",
      runs: [
        {
          results: [
            {
              ruleId: "crawl_delay_missing",
              level: "note",
              locations: [
                {
                  physicalLocation: {
                    artifactLocation: { uri: "https://a.example/robots.txt" },
                    region: { startLine: 2 },
                  },
                },
              ],
            },
          ],
        },
      ],
    });
  });
});

describe("audit history", () => {
  test("tells when what a host says has changed", async () => {
    await makeLedger();
    let text = "User-agent: *\nCrawl-delay: 5\n";
    servers = await startRobotsServers(1, (_, response) => {
      response.setHeader("Content-Type", "text/plain");
      response.end(text);
    });
    const [host = ""] = servers.hosts;
    const audit = async (): Promise<Ran> => await crawlDelay("--host", host, ...flagged);
    await audit();
    await audit();
    text = "User-agent: *\nCrawl-delay: 9\n";
    await audit();
    const ran = await run("history", "--host", host, "--json");
    expect(ran.code).toBe(0);
    expect(JSON.parse(ran.out)).toMatchObject({
      host,
      periods: [
        { audited_agent: "*", checks: 2, changed: [], record: { crawl_delay_seconds: 5 } },
        {
          checks: 1,
          changed: ["crawl_delay_raw", "crawl_delay_seconds", "body_sha256"],
          record: { crawl_delay_seconds: 9, warnings: [], has_robots_file: true },
        },
      ],
    });
    const shown = await run("history", "--host", host);
    expect(shown.out.split("\n")[0]).toMatch(
      /^FIRST +LAST +CHECKS +AGENT +STATUS +DELAY +CODE +CHANGED$/,
    );
    expect((await run("history", "--host", host, "--agent", "bingbot")).out).toBe(
      `no audits of ${host}\n`,
    );
  });

  test("without a ledger there is none, and none is made", async () => {
    const [host = ""] = (await serve("User-agent: *\nCrawl-delay: 5\n")).hosts;
    expect((await crawlDelay("--host", host, ...flagged)).code).toBe(0);
    expect(existsSync(join(folder, "data"))).toBe(false);
    expect((await run("history", "--host", host)).code).toBe(2);
  });
});

describe("many hosts", () => {
  test("1,000 in one run: each asked once, none twice at a time, all kept", async () => {
    await makeLedger();
    const asked = new Map<string, number>();
    servers = await startRobotsServers(1000, (request, response) => {
      const host = request.headers.host ?? "";
      asked.set(host, (asked.get(host) ?? 0) + 1);
      setTimeout(() => response.end("User-agent: *\nCrawl-delay: 5\n"), 5);
    });
    const config = write(
      "audit.yaml",
      JSON.stringify({
        version: "crawlwall.io/audit/v1",
        hosts: servers.hosts.map((host) => ({ host, scheme: "http", allow_private: true })),
      }),
    );
    const ran = await crawlDelay("--config", config, "--json");
    expect(ran.code).toBe(0);
    expect(JSON.parse(ran.out).records).toHaveLength(1000);
    expect(asked.size).toBe(1000);
    expect([...asked.values()].every((times) => times === 1)).toBe(true);
    expect(servers.most.perHost).toBe(1);
    expect(servers.most.together).toBeLessThanOrEqual(16);
    for (const host of [servers.hosts[0], servers.hosts.at(-1)]) {
      const history = await run("history", "--host", host ?? "", "--json");
      expect(JSON.parse(history.out).periods).toMatchObject([{ checks: 1 }]);
    }
  });

  test("a long run says how far it is", () => {
    vi.useFakeTimers();
    const lines: string[] = [];
    vi.spyOn(process.stderr, "write").mockImplementation((chunk) => lines.push(String(chunk)) > 0);
    const progress = startProgress(3, "hosts audited");
    progress.step();
    vi.advanceTimersByTime(1999);
    expect(lines).toEqual([]);
    vi.advanceTimersByTime(1);
    progress.step();
    vi.advanceTimersByTime(2000);
    progress.end();
    vi.advanceTimersByTime(9000);
    vi.useRealTimers();
    expect(lines).toEqual(["1 of 3 hosts audited\n", "2 of 3 hosts audited\n"]);
  });
});
