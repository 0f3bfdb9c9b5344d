import { readFileSync } from "node:fs";
import { type Command, Option } from "commander";
import { type AuditedHost, judgeHost, runAudit } from "../audit/run.ts";
import type { AuditPlan } from "../core/audit/config.ts";
import { auditHost } from "../core/audit/crawl-delay.ts";
import { formatCsv } from "../core/audit/csv.ts";
import type { RobotsFetch } from "../core/audit/fetch.ts";
import { findingsOf } from "../core/audit/finding.ts";
import { formatJunit } from "../core/audit/junit.ts";
import type { CrawlDelayRecord } from "../core/audit/record.ts";
import { formatSarif } from "../core/audit/sarif.ts";
import { formatTable } from "../core/audit/table.ts";
import type { AuditTarget } from "../core/audit/target.ts";
import { fetchRobots } from "../io/robots-fetch.ts";
import { type PlanOptions, planAudit } from "./audit/plan.ts";
import { startProgress } from "./audit/progress.ts";
import { openAuditStore } from "./audit/store.ts";
import { CannotRun, EXIT, type ExitCode, note, printJson, runCommand } from "./exit.ts";
import { type LedgerPlace, withLedgerFlags } from "./ledger/access.ts";
import { packageVersion } from "./version.ts";

const FORMATS = ["table", "json", "csv", "junit", "sarif"] as const;
type Format = (typeof FORMATS)[number];

interface Options extends PlanOptions, LedgerPlace {
  readonly format: Format;
  readonly json?: boolean;
}

/** `crawlwall audit crawl-delay`: asks hosts for their robots.txt and judges its Crawl-delay. */
export function registerAuditCrawlDelay(audit: Command): void {
  withLedgerFlags(
    audit
      .command("crawl-delay")
      .description("fetch each host's robots.txt and check its crawl-delay"),
  )
    .option("--config <path>", "an audit file, a policy file, or a folder of policies")
    .option("--host <host>", "a host, with its port if it needs one; may be repeated", collect, [])
    .option("--rate-limit-required", "the hosts need a crawl-delay")
    .option(
      "--agent <token>",
      "the crawler to judge for (default: *); may be repeated",
      collect,
      [],
    )
    .option("--robots-file <file>", "judge this file instead of fetching one; nothing is stored")
    .option("--allow-private", "the hosts may have addresses that are not public")
    .addOption(new Option("--scheme <scheme>", "how to ask").choices(["http", "https"]))
    .addOption(new Option("--format <format>", "of the result").choices(FORMATS).default("table"))
    .option("--json", "the same as --format json")
    .action((options: Options) => runCommand(() => run(options)));
}

function collect(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value];
}

async function run(options: Options): Promise<ExitCode> {
  const plan = planAudit(options);
  for (const host of plan.skipped) note(`skipped ${host}: it stands for many hosts`);
  const { robotsFile } = options;
  const records =
    robotsFile === undefined ? await fetchAll(plan, options) : judgeFile(plan, robotsFile);
  print(records, options.json === true ? "json" : options.format);
  return records.some((record) => findingsOf(record).length > 0) ? EXIT.found : EXIT.fine;
}

function judgeFile({ targets }: AuditPlan, file: string): readonly CrawlDelayRecord[] {
  let body: Buffer;
  try {
    body = readFileSync(file);
  } catch (error) {
    throw new CannotRun([`--robots-file: ${file} cannot be read`], { cause: error });
  }
  const nowMs = Date.now();
  return targets.flatMap((target) => auditHost(target, { kind: "file", body }, nowMs));
}

async function fetchAll(plan: AuditPlan, options: Options): Promise<readonly CrawlDelayRecord[]> {
  const store = await openAuditStore(options);
  const progress = startProgress(plan.targets.length, "hosts audited");
  // Hosts answer in any order; what is printed has the order of the plan.
  const results = new Map<string, readonly CrawlDelayRecord[]>();
  const take = async (outcome: AuditedHost): Promise<void> => {
    progress.step();
    const { target, records, cause } = outcome;
    results.set(`${target.scheme}://${target.host}`, records);
    if (cause !== undefined) note(`${target.host}: ${cause}`);
    await store?.keep(outcome);
  };
  try {
    const fetch = (target: AuditTarget): Promise<RobotsFetch> => fetchRobots(target);
    await runAudit(plan.targets, { fetch, judge: judgeHost, nowMs: Date.now, take });
  } finally {
    progress.end();
    await store?.close();
  }
  return plan.targets.flatMap(({ scheme, host }) => results.get(`${scheme}://${host}`) ?? []);
}

function print(records: readonly CrawlDelayRecord[], format: Format): void {
  switch (format) {
    case "table":
      process.stdout.write(`${formatTable(records)}\n`);
      return;
    case "json":
      printJson({ records, findings: records.flatMap(findingsOf) });
      return;
    case "csv":
      process.stdout.write(formatCsv(records));
      return;
    case "junit":
      process.stdout.write(formatJunit(records));
      return;
    case "sarif":
      printJson(formatSarif(records, packageVersion()));
      return;
  }
}
