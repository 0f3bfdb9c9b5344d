import type { EnforcingChange, LedgerReport, OutcomeCounts } from "../../core/ledger/report.ts";
import { formatCount, formatTable, type TableColumn } from "./table.ts";

/** Rows of each table; the whole is in `--json`. */
const MOST_ROWS = 15;

/** A report as a person reads it in a terminal. */
export function formatReport(report: LedgerReport): string {
  const site = report.site_id === null ? "all sites" : `site ${report.site_id}`;
  const lines = [
    `${toMinute(report.since)} to ${toMinute(report.until)} UTC, ${site}`,
    "",
    ...formatTotals(report),
    ...section(BOT_COLUMNS, report.by_bot),
    ...section(RULE_COLUMNS, report.by_rule),
    ...section(REASON_COLUMNS, report.by_reason),
    ...section(VERIFICATION_COLUMNS, report.by_verification),
    ...section(PATH_COLUMNS, report.top_paths),
    ...section(SHADOWED_COLUMNS, report.shadowed),
    ...section(FAULT_COLUMNS, report.faults),
    ...formatChanges(report.enforcing_would_change),
  ];
  return lines.join("\n");
}

function formatTotals(report: LedgerReport): readonly string[] {
  const amounts = report.metered_amounts.map(({ amount, currency }) => `${currency} ${amount}`);
  const totals: readonly (readonly [string, number, readonly (string | false)[]])[] = [
    ["Requests", report.requests, []],
    ["Allowed", report.allowed, []],
    [
      "Blocked",
      report.blocked,
      [part(report.rate_limited, "rate limited"), part(report.verifier_errors, "verifier errors")],
    ],
    ["Would block", report.would_block, [part(report.would_rate_limit, "would be rate limited")]],
    ["Metered", report.metered, amounts],
    ["Lost", report.lost, [report.lost > 0 && "never written: the ledger's queue was full"]],
  ];
  const shown = totals.filter(([name, count]) => name !== "Lost" || count > 0);
  const width = Math.max(...shown.map(([, count]) => formatCount(count).length));
  return shown.map(([name, count, parts]) => {
    const notes = parts.filter((text) => text !== false);
    const note = notes.length === 0 ? "" : `  (${notes.join(", ")})`;
    return `${name.padEnd(12)}${formatCount(count).padStart(width)}${note}`;
  });
}

function part(count: number, what: string): string | false {
  return count > 0 && `${formatCount(count)} ${what}`;
}

function title<Row>(text: string, cell: (row: Row) => string | number): TableColumn<Row> {
  return { title: text, cell };
}

const OUTCOMES: readonly TableColumn<OutcomeCounts>[] = [
  title("Requests", ({ requests }) => requests),
  title("Allowed", ({ allowed }) => allowed),
  title("Blocked", ({ blocked }) => blocked),
  title("Would block", ({ would_block }) => would_block),
];

const BOT_COLUMNS: readonly TableColumn<LedgerReport["by_bot"][number]>[] = [
  title("Bot", ({ bot_id }) => bot_id),
  title("Class", ({ bot_class }) => bot_class),
  title("Verified", ({ verified }) => verified),
  title("Spoofed", ({ refuted }) => refuted),
  ...OUTCOMES,
  title("Metered", ({ metered }) => metered),
];

const RULE_COLUMNS: readonly TableColumn<LedgerReport["by_rule"][number]>[] = [
  title("Rule", ({ rule_id }) => rule_id),
  ...OUTCOMES,
];

const REASON_COLUMNS: readonly TableColumn<LedgerReport["by_reason"][number]>[] = [
  title("Reason", ({ reason }) => reason),
  ...OUTCOMES,
];

const VERIFICATION_COLUMNS: readonly TableColumn<LedgerReport["by_verification"][number]>[] = [
  title("Verification", ({ verification }) => verification),
  ...OUTCOMES,
];

const PATH_COLUMNS: readonly TableColumn<LedgerReport["top_paths"][number]>[] = [
  title("Path (approximate)", ({ path }) => shorten(path)),
  title("Requests", ({ requests }) => requests),
  title("Blocked", ({ blocked }) => blocked),
  title("Would block", ({ would_block }) => would_block),
];

const SHADOWED_COLUMNS: readonly TableColumn<LedgerReport["shadowed"][number]>[] = [
  title("Shadow rule", ({ rule_id }) => rule_id),
  title("Would", ({ action, status }) => `${action} ${status}`),
  title("Requests", ({ requests }) => requests),
];

const FAULT_COLUMNS: readonly TableColumn<LedgerReport["faults"][number]>[] = [
  title("Rule that could not be evaluated", ({ rule_id }) => rule_id),
  title("Requests", ({ requests }) => requests),
];

function section<Row>(
  columns: readonly TableColumn<Row>[],
  rows: readonly Row[],
  heading?: string,
): readonly string[] {
  if (rows.length === 0) return [];
  const more = rows.length - MOST_ROWS;
  return [
    "",
    ...(heading === undefined ? [] : [heading]),
    ...formatTable(columns, rows.slice(0, MOST_ROWS)),
    ...(more > 0 ? [`and ${formatCount(more)} more`] : []),
  ];
}

/** What enforcing would have changed on sites that only watch. */
function formatChanges(changes: readonly EnforcingChange[]): readonly string[] {
  const wanted = changes.filter(({ verified, bot_class }) => verified && bot_class === "search");
  const warning = wanted.map(
    ({ bot_id, would_block, rules }) =>
      `Look first: verified ${bot_id}, a search crawler, would be refused ${formatCount(would_block)} ${would_block === 1 ? "time" : "times"} by ${rules.join(", ")}`,
  );
  return [
    ...section(CHANGE_COLUMNS, changes, "What enforcing would have changed"),
    ...(warning.length === 0 ? [] : ["", ...warning]),
  ];
}

const CHANGE_COLUMNS: readonly TableColumn<EnforcingChange>[] = [
  title("Site", ({ site_id }) => site_id ?? "-"),
  title("Bot", ({ bot_id }) => bot_id),
  title("Class", ({ bot_class }) => bot_class),
  title("Identity", ({ verified }) => (verified ? "verified" : "not verified")),
  title("Would block", ({ would_block }) => would_block),
  title("Would limit", ({ would_rate_limit }) => would_rate_limit),
  title("Rules", ({ rules }) => rules.join(", ")),
];

function shorten(path: string): string {
  return path.length > 60 ? `${path.slice(0, 59)}…` : path;
}

function toMinute(ts: string): string {
  return ts.slice(0, 16).replace("T", " ");
}
