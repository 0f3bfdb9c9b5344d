import { explain } from "./explain.ts";
import { type AuditFinding, findingsOf } from "./finding.ts";
import type { CrawlDelayRecord } from "./record.ts";

const HELP =
  "Publish a robots.txt with an explicit positive Crawl-delay in the group of the crawler that is meant, and keep it reachable.";

const RULES: readonly { readonly id: AuditFinding["trigger"]; readonly text: string }[] = [
  { id: "crawl_delay_missing", text: "Crawl-delay is required, and missing or invalid" },
  { id: "robots_unavailable", text: "robots.txt is unavailable where a Crawl-delay is required" },
];

/** Records as SARIF 2.1.0, for code scanning: a result for each finding, at the file's URL and line. */
export function formatSarif(records: readonly CrawlDelayRecord[], version: string): unknown {
  return {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: {
          driver: {
            name: "crawlwall audit crawl-delay",
            version,
            rules: RULES.map(({ id, text }) => ({
              id,
              shortDescription: { text },
              help: { text: HELP },
              defaultConfiguration: { level: "note" },
            })),
          },
        },
        results: records.flatMap((record) =>
          findingsOf(record).map((finding) => toResult(record, finding)),
        ),
      },
    ],
  };
}

function toResult(record: CrawlDelayRecord, finding: AuditFinding): unknown {
  const { why, fix } = explain(record);
  const uri = record.final_url ?? `${record.scheme}://${record.host}/robots.txt`;
  return {
    ruleId: finding.trigger,
    level: "note",
    message: { text: `${finding.message} Why: ${why}. What to do: ${fix ?? "nothing"}.` },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri },
          ...(record.line === null ? {} : { region: { startLine: record.line } }),
        },
      },
    ],
    partialFingerprints: {
      crawlDelay: `${record.scheme}://${record.host} ${record.audited_agent} ${finding.trigger}`,
    },
    properties: {
      host: record.host,
      audited_agent: record.audited_agent,
      field: finding.field,
      severity: finding.severity,
      parser_error_code: record.parser_error_code,
      error_detail: record.error_detail,
    },
  };
}
