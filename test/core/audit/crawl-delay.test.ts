import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { auditHost, storedText } from "../../../src/core/audit/crawl-delay.ts";
import type { RobotsFetch } from "../../../src/core/audit/fetch.ts";
import { findingsOf } from "../../../src/core/audit/finding.ts";
import type { CrawlDelayRecord } from "../../../src/core/audit/record.ts";
import { type AuditTarget, EVERYBODY } from "../../../src/core/audit/target.ts";
import { failure, response, target } from "../../support/audited-host.ts";
import { DELAY_CASES } from "../robots/crawl-delay-cases.ts";

const checkedAtMs = Date.UTC(2026, 0, 2, 3, 4, 5, 6);
const withDelay = "User-agent: *\nCrawl-delay: 5\n";

function audit(source: RobotsFetch, changes: Partial<AuditTarget> = {}): CrawlDelayRecord {
  const [record] = auditHost({ ...target, ...changes }, source, checkedAtMs);
  if (record === undefined) throw new Error("no record");
  return record;
}

function codeOf(record: CrawlDelayRecord): string | null {
  return record.error_detail === null
    ? record.parser_error_code
    : `${record.parser_error_code} (${record.error_detail})`;
}

function triggersOf(record: CrawlDelayRecord): readonly string[] {
  return findingsOf(record).map((finding) => finding.trigger);
}

describe("what a file says to a crawler", () => {
  test.each(DELAY_CASES)("$why", (expected) => {
    const { agent, text, fallback = "rfc9309" } = expected;
    const record = audit(response(text), { agents: [{ names: agent, fallback }] });
    expect({
      effective: record.effective_user_agent,
      raw: record.crawl_delay_raw,
      seconds: record.crawl_delay_seconds,
      code: codeOf(record),
      warnings: record.warnings,
    }).toEqual({
      effective: expected.effective,
      raw: expected.raw,
      seconds: expected.seconds,
      code: expected.code,
      warnings: expected.warnings,
    });
    expect(record.has_robots_file).toBe(true);
    expect(record.has_valid_crawl_delay).toBe(expected.seconds !== null);
    expect(record.crawl_delay_violation).toBe(expected.seconds === null);
    expect(triggersOf(record)).toEqual(expected.seconds === null ? ["crawl_delay_missing"] : []);
  });
});

describe("what the bytes of a file are", () => {
  const utf16le = Buffer.from(withDelay, "utf16le");
  const utf16be = Buffer.from(utf16le).swap16();
  const notRobots = { effective: null, seconds: null };
  const good = { effective: "*", seconds: 5, code: null };
  const group = Buffer.from(withDelay);
  const rules = Buffer.from("Disallow: /abcdefgh\n".repeat(31_000));

  test.each<
    readonly [
      string,
      RobotsFetch,
      {
        effective: string | null;
        seconds: number | null;
        code: string | null;
        warnings?: string[];
      },
    ]
  >([
    [
      "UTF-16LE by its byte order mark",
      response(Buffer.concat([Buffer.from([0xff, 0xfe]), utf16le])),
      { ...good, warnings: ["NOT_UTF8"] },
    ],
    [
      "UTF-16BE by its byte order mark",
      response(Buffer.concat([Buffer.from([0xfe, 0xff]), utf16be])),
      { ...good, warnings: ["NOT_UTF8"] },
    ],
    [
      "UTF-16 without mark or charset",
      response(utf16le),
      { ...notRobots, code: "NOT_ROBOTS_TXT (binary)" },
    ],
    [
      "UTF-16LE by its charset",
      response(utf16le, { contentType: "text/plain; charset=UTF-16LE" }),
      { ...good, warnings: ["NOT_UTF8"] },
    ],
    [
      "any other charset is ignored",
      response(withDelay, { contentType: "text/plain; charset=iso-8859-1" }),
      good,
    ],
    [
      "two bytes of a byte order mark",
      response(Buffer.concat([Buffer.from([0xef, 0xbb]), group])),
      good,
    ],
    ["one byte of a byte order mark", response(Buffer.concat([Buffer.from([0xef]), group])), good],
    [
      "a broken byte order mark hides the first line",
      response(Buffer.concat([Buffer.from([0xef, 0x11, 0xbf]), group])),
      { effective: null, seconds: null, code: "OUTSIDE_GROUP" },
    ],
    [
      "Latin-1 in a comment",
      response(Buffer.concat([Buffer.from("# caf\xe9\n", "latin1"), group])),
      good,
    ],
    [
      "Latin-1 in a rule",
      response(Buffer.concat([group, Buffer.from("Disallow: /caf\xe9\n", "latin1")])),
      { ...good, warnings: ["NOT_UTF8"] },
    ],
    [
      "a NUL near the start",
      response(`# \0\n${withDelay}`),
      { ...notRobots, code: "NOT_ROBOTS_TXT (binary)" },
    ],
    [
      "a NUL in a value further on",
      response(`#${"x".repeat(1100)}\nUser-agent: *\nCrawl-delay: 5\0\n`),
      { effective: "*", seconds: null, code: "INVALID_VALUE (control_char)" },
    ],
    [
      "compressed bytes that nothing declares",
      response(gzipSync(withDelay)),
      { ...notRobots, code: "NOT_ROBOTS_TXT (binary)" },
    ],
    [
      "a delay before 600 KiB of rules",
      response(Buffer.concat([group, rules])),
      { ...good, warnings: ["TRUNCATED"] },
    ],
    [
      "a delay beyond the limit",
      response(
        Buffer.concat([Buffer.from("User-agent: *\n"), rules, Buffer.from("Crawl-delay: 5\n")]),
      ),
      { effective: "*", seconds: null, code: "TRUNCATED (size_limit)" },
    ],
    [
      "a limit that cuts a value is no smaller value",
      response(`User-agent: *\n#${"x".repeat(511_969)}\nCrawl-delay: 10\n`),
      { effective: "*", seconds: null, code: "TRUNCATED (size_limit)" },
    ],
    [
      "one line without end",
      response("a".repeat(512_000), { isCut: true }),
      { ...notRobots, code: "TRUNCATED (size_limit)" },
    ],
    [
      "an HTML page",
      response("\uFEFF \r\n<!DOCTYPE html><p>404", { contentType: "text/html" }),
      { ...notRobots, code: "NOT_ROBOTS_TXT (html)" },
    ],
    [
      "directives within HTML",
      response("<html><body>User-agent: *<br>\nCrawl-delay: 10<br></body></html>"),
      { ...notRobots, code: "NOT_ROBOTS_TXT (html)" },
    ],
    [
      "JSON",
      response('{"error": "not found"}'),
      { ...notRobots, code: "UNPARSEABLE (no_directives)" },
    ],
    [
      "prose",
      response("Nothing to see here.\nGo away: now.\n"),
      { ...notRobots, code: "UNPARSEABLE (no_directives)" },
    ],
    [
      "a Sitemap line and nothing else",
      response("Sitemap: https://h/s.xml\n"),
      { ...notRobots, code: null },
    ],
    ["no Content-Type", response(withDelay, { contentType: undefined }), good],
    [
      "another Content-Type",
      response(withDelay, { contentType: "application/octet-stream" }),
      { ...good, warnings: ["WRONG_CONTENT_TYPE"] },
    ],
    [
      "a Content-Type in capitals",
      response(withDelay, { contentType: "Text/Plain;charset=utf-8" }),
      good,
    ],
    [
      "204 without body",
      response("", { status: 204, contentType: undefined }),
      { ...notRobots, code: null },
    ],
  ])("%s", (_, source, expected) => {
    const record = audit(source);
    expect({
      effective: record.effective_user_agent,
      seconds: record.crawl_delay_seconds,
      code: codeOf(record),
      warnings: record.warnings,
    }).toEqual({ warnings: [], ...expected });
  });

  test("a limit that falls right behind a line cuts nothing of it", () => {
    const text = `#${"x".repeat(511_970)}\nUser-agent: *\nCrawl-delay: 7\n`;
    expect(text.length).toBe(512_001);
    expect(audit(response(text.slice(1))).crawl_delay_seconds).toBe(7);
  });
});

describe("which findings an outcome gives", () => {
  const both = ["crawl_delay_missing", "robots_unavailable"];
  test.each<
    readonly [string, RobotsFetch, number | null, boolean, string | null, readonly string[]]
  >([
    ["a valid delay", response(withDelay), 200, true, null, []],
    ["no delay", response("User-agent: *\nDisallow:\n"), 200, true, null, ["crawl_delay_missing"]],
    ["an empty file", response(""), 200, true, null, ["crawl_delay_missing"]],
    ["204", response("", { status: 204 }), 204, true, null, ["crawl_delay_missing"]],
    ["HTML under 200", response("<html>"), 200, false, "NOT_ROBOTS_TXT (html)", both],
    [
      "a redirect without target",
      response("", { status: 302 }),
      302,
      false,
      "HTTP_ERROR (redirect_invalid)",
      both,
    ],
    ...[199, 206, 304, 600].map(
      (status) =>
        [
          `${status}`,
          response(withDelay, { status }),
          status,
          false,
          "HTTP_ERROR (unexpected_status)",
          both,
        ] as const,
    ),
    ...[400, 401, 403, 404, 410, 451].map(
      (status) =>
        [
          `${status}, whatever its body says`,
          response(withDelay, { status }),
          status,
          false,
          "HTTP_ERROR (unavailable)",
          both,
        ] as const,
    ),
    ["429", response("", { status: 429 }), 429, false, "HTTP_ERROR (rate_limited)", both],
    ...[500, 502, 503, 504].map(
      (status) =>
        [
          `${status}`,
          response("", { status }),
          status,
          false,
          "HTTP_ERROR (unreachable)",
          both,
        ] as const,
    ),
    [
      "too many redirects",
      failure("redirect_limit", 302),
      302,
      false,
      "FETCH_FAILED (redirect_limit)",
      both,
    ],
    [
      "a redirect to an address that is not public",
      failure("blocked_address", 302),
      302,
      false,
      "FETCH_FAILED (blocked_address)",
      both,
    ],
    ...(
      ["dns", "connect", "tls", "timeout", "reset", "protocol", "incomplete", "decode"] as const
    ).map(
      (fault) =>
        [
          `no response: ${fault}`,
          failure(fault),
          null,
          false,
          `FETCH_FAILED (${fault})`,
          both,
        ] as const,
    ),
  ])("%s", (_, source, status, hasFile, code, triggers) => {
    const record = audit(source);
    expect(record.robots_status_code).toBe(status);
    expect(record.has_robots_file).toBe(hasFile);
    expect(codeOf(record)).toBe(code);
    expect(triggersOf(record)).toEqual(triggers);
    expect(record.crawl_delay_violation).toBe(triggers.length > 0);

    const unmarked = audit(source, { rateLimitRequired: false });
    expect(unmarked.crawl_delay_violation).toBe(false);
    expect(findingsOf(unmarked)).toEqual([]);
  });

  test("findings carry the words of the audit's definition", () => {
    expect(findingsOf(audit(failure("dns")))).toEqual([
      {
        trigger: "crawl_delay_missing",
        host: "www.example.com",
        audited_agent: "*",
        field: "crawl_delay_violation",
        severity: "SUGGESTION",
        message:
          "This host is configured as rate-limit sensitive, but robots.txt does not provide a valid crawl-delay directive.",
      },
      {
        trigger: "robots_unavailable",
        host: "www.example.com",
        audited_agent: "*",
        field: "robots_status_code",
        severity: "SUGGESTION",
        message:
          "Rate-limit-sensitive host does not expose a usable robots.txt for crawl-delay policy declaration.",
      },
    ]);
  });
});

describe("what a record holds", () => {
  test("the columns of the audit's definition, then the diagnostics, in this order", () => {
    const moved = response(withDelay, {
      finalUrl: "https://other.example/robots.txt",
      redirects: ["https://other.example/robots.txt"],
      attempts: 2,
      contentType: "text/plain; charset=utf-8",
      wireBytes: 99,
    });
    const record = audit(moved);
    expect(Object.entries(record)).toEqual([
      ["host", "www.example.com"],
      ["rate_limit_required", true],
      ["robots_status_code", 200],
      ["has_robots_file", true],
      ["effective_user_agent", "*"],
      ["crawl_delay_raw", "5"],
      ["crawl_delay_seconds", 5],
      ["has_valid_crawl_delay", true],
      ["crawl_delay_violation", false],
      ["parser_error_code", null],
      ["checked_at", "2026-01-02T03:04:05.006Z"],
      ["scheme", "https"],
      ["audited_agent", "*"],
      ["content_type", "text/plain; charset=utf-8"],
      ["response_size", 29],
      ["response_bytes", 99],
      ["body_sha256", "69f6030ac73d906097765eab34b725d8b6820c637c31523b25032c475d027b4a"],
      ["final_url", "https://other.example/robots.txt"],
      ["redirects", ["https://other.example/robots.txt"]],
      ["attempts", 2],
      ["error_class", null],
      ["error_detail", null],
      ["line", 2],
      ["warnings", ["REDIRECTED_HOST"]],
    ]);
  });

  test("one record for each agent of a host", () => {
    const text = "User-agent: bingbot\nCrawl-delay: 3\n\nUser-agent: *\nCrawl-delay: 9\n";
    const records = auditHost(
      { ...target, agents: [{ names: ["bingbot", "msnbot"], fallback: "directive" }, EVERYBODY] },
      response(text),
      checkedAtMs,
    );
    expect(records.map((record) => [record.audited_agent, record.crawl_delay_seconds])).toEqual([
      ["bingbot", 3],
      ["*", 9],
    ]);
  });

  test("a file on disk has no status and no transport", () => {
    const [record] = auditHost(target, { kind: "file", body: Buffer.from("") }, checkedAtMs);
    expect(record).toMatchObject({
      robots_status_code: null,
      has_robots_file: true,
      final_url: null,
      attempts: 0,
    });
    expect(record === undefined ? [] : triggersOf(record)).toEqual(["crawl_delay_missing"]);
  });

  test("texts are bounded and hold nothing that a terminal or a store would act on", () => {
    expect(storedText("a\u0000\u001b[2J\u202e", 99)).toBe("a\\u0000\\u001b[2J\\u202e");
    expect(storedText("x".repeat(300), 256)).toBe(`${"x".repeat(255)}…`);
    expect(storedText(`${"x".repeat(254)}😀😀`, 256)).toBe(`${"x".repeat(254)}…`);
  });
});
