import type { Command } from "commander";
import type { LoggedAnswer } from "../core/ledger/settlement.ts";
import { type AccessLine, logFiles, readAccessLog } from "../io/access-log.ts";
import type { LedgerQuery } from "../io/ledger/ledger.ts";
import { CannotRun, EXIT, type ExitCode, note, printJson, runCommand } from "./exit.ts";
import { type LedgerPlace, withLedger, withLedgerFlags } from "./ledger/access.ts";
import { formatCount } from "./ledger/table.ts";

interface Options extends LedgerPlace {
  readonly log: readonly string[];
  readonly json?: boolean;
}

/** `crawlwall ledger settle`: what metered requests came to, by what the proxy logged of them. */
export function registerLedgerSettle(ledger: Command): void {
  const collect = (value: string, values: readonly string[]): readonly string[] => [
    ...values,
    value,
  ];
  withLedgerFlags(
    ledger
      .command("settle")
      .description("settle metered requests by Caddy's access log; again changes nothing"),
  )
    .option(
      "--log <file>",
      "JSON access log, its rotated files included; `-` is stdin",
      collect,
      [],
    )
    .option("--json", "print JSON")
    .action((options: Options) => runCommand(() => settle(options)));
}

/** What a run did, and what it read. */
interface Settled {
  readonly files: number;
  /** Answers that CrawlWall was asked about. */
  lines: number;
  /** Lines that are no JSON; the last one of a file that is being written is not counted. */
  unreadable: number;
  settled: number;
  void: number;
  unmatched: number;
  /** Metered requests of the log that were settled or void before. */
  known: number;
}

/** The time and the hosts that the logs speak of. */
interface Coverage {
  sinceMs: number;
  untilMs: number;
  readonly hosts: Set<string>;
}

/** Answers that are looked up at once. */
const BATCH = 1000;

async function settle(options: Options): Promise<ExitCode> {
  if (options.log.length === 0) throw new CannotRun(["name the access log with `--log`"]);
  const files = [...new Set(options.log.flatMap(logFiles))];
  const counts: Settled = {
    files: files.length,
    lines: 0,
    unreadable: 0,
    settled: 0,
    void: 0,
    unmatched: 0,
    known: 0,
  };
  await withLedger(options, "change", (query) => settleAll(query, files, counts));
  if (options.json === true) printJson(counts);
  else process.stdout.write(`${describe(counts)}\n`);
  if (counts.unreadable > 0) {
    note(`crawlwall: ${formatCount(counts.unreadable)} lines are not JSON and were passed over`);
  }
  return EXIT.fine;
}

async function settleAll(
  query: LedgerQuery,
  files: readonly string[],
  counts: Settled,
): Promise<void> {
  const at = new Date().toISOString();
  const coverage: Coverage = {
    sinceMs: Number.POSITIVE_INFINITY,
    untilMs: Number.NEGATIVE_INFINITY,
    hosts: new Set(),
  };
  let batch: LoggedAnswer[] = [];
  const send = async (): Promise<void> => {
    const done = await query("settle", { answers: batch, at });
    counts.settled += done.settled;
    counts.void += done.void;
    counts.known += done.known;
    batch = [];
  };
  for (const file of files) {
    for await (const line of answersOf(file, counts)) {
      cover(coverage, line);
      batch.push({ requestId: line.requestId, status: line.status, bytes: line.bytes });
      if (batch.length === BATCH) await send();
    }
  }
  await send();
  if (coverage.sinceMs > coverage.untilMs) return;
  counts.unmatched = await query("noteUnmatched", {
    since: new Date(coverage.sinceMs).toISOString(),
    until: new Date(coverage.untilMs).toISOString(),
    hosts: [...coverage.hosts],
    at,
  });
}

async function* answersOf(file: string, counts: Settled): AsyncIterable<AccessLine> {
  try {
    for await (const read of readAccessLog(file)) {
      if (read.kind === "unreadable") counts.unreadable += 1;
      if (read.kind !== "answer") continue;
      counts.lines += 1;
      yield read.line;
    }
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    throw new CannotRun([`\`${file}\` cannot be read: ${error.message}`], { cause: error });
  }
}

function cover(coverage: Coverage, { atMs, host }: AccessLine): void {
  coverage.hosts.add(host);
  if (atMs === undefined) return;
  coverage.sinceMs = Math.min(coverage.sinceMs, atMs);
  coverage.untilMs = Math.max(coverage.untilMs, atMs);
}

function describe(counts: Settled): string {
  const { lines, files, settled, unmatched, known } = counts;
  const parts = [
    `${formatCount(settled)} settled`,
    `${formatCount(counts.void)} void`,
    `${formatCount(unmatched)} unmatched`,
    `${formatCount(known)} known before`,
  ];
  return `${parts.join(", ")}; ${formatCount(lines)} answers in ${formatCount(files)} files`;
}
