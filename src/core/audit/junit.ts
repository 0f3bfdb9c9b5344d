import { explain } from "./explain.ts";
import { findingsOf } from "./finding.ts";
import type { CrawlDelayRecord } from "./record.ts";

/** Records as a JUnit report: a test for each, which fails with each of its findings. */
export function formatJunit(records: readonly CrawlDelayRecord[]): string {
  const failed = records.filter((record) => findingsOf(record).length > 0).length;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites tests="${records.length}" failures="${failed}">`,
    `  <testsuite name="crawl-delay" tests="${records.length}" failures="${failed}">`,
    ...records.flatMap(toTestCase),
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

function toTestCase(record: CrawlDelayRecord): readonly string[] {
  const { why, fix } = explain(record);
  const findings = findingsOf(record);
  const test = `    <testcase classname="${escapeXml(record.host)}" name="${escapeXml(record.audited_agent)}"`;
  if (findings.length === 0) return [`${test}/>`];
  // A test has one failure in this format: the first finding leads, the others follow in its text.
  const [first] = findings;
  const text = [...findings.map(({ message }) => message), `why: ${why}`, `do: ${fix ?? ""}`];
  return [
    `${test}>`,
    `      <failure type="${first?.trigger}" message="${escapeXml(first?.message ?? "")}">`,
    ...text.map(escapeXml),
    "      </failure>",
    "    </testcase>",
  ];
}

/** XML 1.0 has no way to write control characters and U+FFFE, U+FFFF; records hold no others of them. */
function escapeXml(text: string): string {
  return text
    .replace(/[\ufffe\uffff]/g, "\ufffd")
    .replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
