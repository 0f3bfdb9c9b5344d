import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { periodsOf } from "../../../src/core/audit/changes.ts";
import { auditHost } from "../../../src/core/audit/crawl-delay.ts";
import { crawlerAdvice } from "../../../src/core/audit/crawlers.ts";
import { formatCsv } from "../../../src/core/audit/csv.ts";
import { explain } from "../../../src/core/audit/explain.ts";
import type { FetchFault } from "../../../src/core/audit/fetch.ts";
import { formatJunit } from "../../../src/core/audit/junit.ts";
import type { CrawlDelayRecord } from "../../../src/core/audit/record.ts";
import { formatSarif } from "../../../src/core/audit/sarif.ts";
import { AUDIT_COLUMNS } from "../../../src/core/audit/stored.ts";
import { formatTable } from "../../../src/core/audit/table.ts";
import { type AuditTarget, EVERYBODY } from "../../../src/core/audit/target.ts";
import { DELAY_CASES } from "../robots/crawl-delay-cases.ts";

const target: AuditTarget = {
  scheme: "https",
  host: "a.example",
  rateLimitRequired: true,
  allowPrivate: false,
  agents: [EVERYBODY],
};

function recordOf(text: string, changes: Partial<AuditTarget> = {}, atMs = 0): CrawlDelayRecord {
  const [record] = auditHost(
    { ...target, ...changes },
    { kind: "file", body: Buffer.from(text) },
    atMs,
  );
  if (record === undefined) throw new Error("no record");
  return record;
}

function failed(fault: FetchFault, redirects: readonly string[] = []): CrawlDelayRecord {
  const url = "https://a.example/robots.txt";
  const facts = { url, finalUrl: url, redirects, attempts: 1, cause: "", status: undefined };
  const [record] = auditHost(target, { kind: "failure", fault, ...facts }, 0);
  if (record === undefined) throw new Error("no record");
  return record;
}

describe("a record in words", () => {
  test.each<readonly [string, CrawlDelayRecord, string, string, string | undefined]>([
    [
      "a valid delay",
      recordOf("User-agent: *\nCrawl-delay: 5\n"),
      "ok",
      "`*` is given 5 s in line 2",
      undefined,
    ],
    [
      "no group",
      recordOf("User-agent: b\nCrawl-delay: 5\n", { agents: [{ ...EVERYBODY, names: ["a"] }] }),
      "violation",
      "no group speaks to `a`, and there is none for `*`",
      "publish `Crawl-delay: 10`, a whole number from 1 to 30, on a line of its own in the group `User-agent: a`",
    ],
    [
      "a group without delay",
      recordOf("User-agent: a\nDisallow:\n", { agents: [{ ...EVERYBODY, names: ["A"] }] }),
      "violation",
      "the group for `a` has no Crawl-delay line",
      "publish `Crawl-delay: 10`, a whole number from 1 to 30, on a line of its own in the group `User-agent: a`",
    ],
    [
      "no delay where none is needed",
      recordOf("", { rateLimitRequired: false }),
      "not required",
      "no group speaks to `*`, and there is none for `*`",
      undefined,
    ],
    [
      "a bad value",
      recordOf("User-agent: *\nCrawl-delay: 0\n"),
      "violation",
      "line 2: zero is no delay (`0`)",
      "publish `Crawl-delay: 10`, a whole number from 1 to 30, on a line of its own in the group `User-agent: *`",
    ],
    [
      "a failure",
      failed("dns"),
      "violation",
      "the host's name has no address",
      "serve https://a.example/robots.txt with status 200 as text/plain, to everybody, and in it `Crawl-delay: 10`, a whole number from 1 to 30, on a line of its own in the group `User-agent: *`",
    ],
    [
      "an address of the host's own",
      failed("blocked_address"),
      "violation",
      "an address that is not public was refused",
      "where `a.example` may have such an address, say so: `allow_private: true`, or `--allow-private`",
    ],
    [
      "an address that a redirect led to",
      failed("blocked_address", ["http://10.0.0.1/"]),
      "violation",
      "an address that is not public was refused",
      "let robots.txt be found without a redirect into a private network",
    ],
  ])("%s", (_, record, verdict, why, fix) => {
    expect(explain(record)).toMatchObject({ verdict, why, fix });
  });

  test("each warning is explained", () => {
    const { remarks } = explain(recordOf("User-agent: *\nCrawl-delay: 31.5\nCrawl-delay: 99\n"));
    expect(remarks).toEqual([
      "ABOVE_30: more than 30 s; Bing documents 1 to 30",
      "DUPLICATE_CRAWL_DELAY: several values; the smallest valid one counts here, the last one with many crawlers",
      "FRACTIONAL: a decimal; crawlers that know whole seconds drop it",
      crawlerAdvice("*"),
    ]);
  });
});

test("the documentation knows every code, detail and warning that the cases bring up", () => {
  const words = new Set(
    DELAY_CASES.flatMap(({ code, warnings }) => [
      ...((code ?? "").match(/\w+/g) ?? []),
      ...warnings,
    ]),
  );
  const text = readFileSync("docs/crawl-delay.md", "utf8");
  expect([...words].filter((word) => !text.includes(`\`${word}\``))).toEqual([]);
});

describe("what a delay is worth", () => {
  test.each([
    ["Googlebot", "Google ignores Crawl-delay"],
    ["googlebot-news", "Google ignores Crawl-delay"],
    ["bingbot", "Bing honours whole values from 1 to 30"],
    ["YandexBot", "Yandex has ignored Crawl-delay"],
    ["MJ12bot", "MJ12bot honours whole values"],
    ["*", "Bing, ClaudeBot and MJ12bot honour Crawl-delay; Google"],
    ["examplebot", "whether this crawler honours Crawl-delay is not documented"],
  ])("to %s", (agent, start) => {
    expect(crawlerAdvice(agent).startsWith(start)).toBe(true);
  });
});

describe("reports", () => {
  test("the columns that are kept are the fields of a record, in its order", () => {
    expect(AUDIT_COLUMNS.map(([name]) => name)).toEqual(Object.keys(recordOf("")));
  });

  test("a table keeps its columns apart", () => {
    const lines = formatTable([
      recordOf("User-agent: *\nCrawl-delay: 5\n"),
      recordOf("", { host: "long.a.example" }),
    ]).split("\n");
    expect(lines.filter((line) => !line.startsWith(" "))).toEqual([
      "HOST            AGENT  STATUS  DELAY  VERDICT",
      "a.example       *      -       5 s    ok",
      "long.a.example  *      -       -      violation",
    ]);
  });

  test("CSV quotes what needs it", () => {
    const csv = formatCsv([recordOf('User-agent: *\nCrawl-delay: "1,5"\n')]);
    expect(csv.split("\r\n")[1]).toContain(',"""1,5""",');
  });

  test("JUnit escapes what XML would read", () => {
    const agents: AuditTarget["agents"] = [{ ...EVERYBODY, names: ["<&'\">"] }];
    const xml = formatJunit([recordOf("User-agent: *\nCrawl-delay: <b>&\uffff\n", { agents })]);
    expect(xml).toContain('name="&#60;&#38;&#39;&#34;&#62;"');
    expect(xml).toContain("(`&#60;b&#62;&#38;\ufffd`)");
    expect(xml).not.toContain("<b>");
  });

  test("JUnit passes what has no finding", () => {
    const xml = formatJunit([recordOf("User-agent: *\nCrawl-delay: 5\n")]);
    expect(xml).toContain('<testsuite name="crawl-delay" tests="1" failures="0">');
    expect(xml).toContain('<testcase classname="a.example" name="*"/>');
  });

  test("SARIF has a result for each finding", () => {
    expect(formatSarif([failed("dns"), recordOf("")], "1.2.3")).toMatchObject({
      runs: [
        {
          tool: { driver: { version: "1.2.3" } },
          results: [
            { ruleId: "crawl_delay_missing" },
            { ruleId: "robots_unavailable" },
            { ruleId: "crawl_delay_missing" },
          ],
        },
      ],
    });
  });
});

describe("history", () => {
  const five = "User-agent: *\nCrawl-delay: 5\n";

  test("audits that say the same are one period, in order of time", () => {
    const records = [3, 1, 2].map((day) => recordOf(day === 3 ? "" : five, {}, day * 86_400_000));
    expect(periodsOf(records)).toMatchObject([
      {
        first_checked_at: "1970-01-02T00:00:00.000Z",
        last_checked_at: "1970-01-03T00:00:00.000Z",
        checks: 2,
        changed: [],
      },
      {
        first_checked_at: "1970-01-04T00:00:00.000Z",
        checks: 1,
        changed: ["effective_user_agent", "crawl_delay_raw", "crawl_delay_seconds", "body_sha256"],
      },
    ]);
  });

  test("each crawler and scheme has periods of its own", () => {
    const agents: AuditTarget["agents"] = [EVERYBODY, { ...EVERYBODY, names: ["b"] }];
    const records = [
      ...auditHost({ ...target, agents }, { kind: "file", body: Buffer.from(five) }, 0),
      recordOf("", { scheme: "http" }),
    ];
    expect(periodsOf(records).map(({ scheme, audited_agent }) => [scheme, audited_agent])).toEqual([
      ["https", "*"],
      ["https", "b"],
      ["http", "*"],
    ]);
  });
});
