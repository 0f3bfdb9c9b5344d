import { sumDecimals } from "./decimal.ts";
import type { SettlementState } from "./settlement.ts";

/** Metered requests that are alike, counted. */
export interface MeteredCount {
  /** `2026-11`. */
  readonly month: string;
  readonly bot_id: string;
  readonly bot_operator: string | null;
  readonly rule_id: string;
  readonly price_amount: string;
  readonly price_currency: string;
  readonly state: SettlementState;
  /** Whether the site enforced: what shadow lets through was never agreed on. */
  readonly enforced: boolean;
  readonly requests: number;
}

/** The same of one path. */
export interface PathCount extends Pick<MeteredCount, "price_amount" | "price_currency" | "state"> {
  readonly path: string;
  readonly requests: number;
}

/** So many requests, and the exact sum of their prices, as a decimal. */
export interface Amount {
  readonly requests: number;
  readonly amount: string;
}

/** What metered requests come to, in one currency. */
export interface Amounts extends Readonly<Record<SettlementState, Amount>> {
  readonly currency: string;
}

/** What a site is owed: held, settled and void, in all and by what an invoice is split by. */
export interface Statement {
  readonly since: string;
  /** Null where it is about all that was there. */
  readonly until: string | null;
  readonly site_id: string | null;
  readonly totals: readonly Amounts[];
  readonly by_crawler: readonly (Amounts & {
    readonly bot_id: string;
    readonly bot_operator: string | null;
  })[];
  readonly by_operator: readonly (Amounts & { readonly bot_operator: string | null })[];
  readonly by_rule: readonly (Amounts & { readonly rule_id: string })[];
  readonly by_month: readonly (Amounts & { readonly month: string })[];
  /** The paths asked for most. */
  readonly top_paths: readonly (Amounts & { readonly path: string })[];
  /** Metered where a site does not enforce: a trial, in none of the sums above. */
  readonly not_enforced: readonly (Amount & { readonly currency: string })[];
}

/** What a statement is made of. */
export interface StatementParts {
  readonly since: string;
  readonly until: string | undefined;
  readonly siteId: string | undefined;
  readonly counts: readonly MeteredCount[];
  /** Of sites that enforce. */
  readonly paths: readonly PathCount[];
}

/** Adds metered requests up to a statement. */
export function createStatement(parts: StatementParts): Statement {
  const counts = parts.counts.filter(({ enforced }) => enforced);
  const trials = parts.counts.filter(({ enforced }) => !enforced);
  return {
    since: parts.since,
    until: parts.until ?? null,
    site_id: parts.siteId ?? null,
    totals: split(counts, () => ({})),
    by_crawler: split(counts, ({ bot_id, bot_operator }) => ({ bot_id, bot_operator })),
    by_operator: split(counts, ({ bot_operator }) => ({ bot_operator })),
    by_rule: split(counts, ({ rule_id }) => ({ rule_id })),
    by_month: split(counts, ({ month }) => ({ month })),
    top_paths: split(parts.paths, ({ path }) => ({ path })),
    not_enforced: [...Map.groupBy(trials, (count) => count.price_currency)].map(
      ([currency, group]) => ({ currency, ...sumOf(group) }),
    ),
  };
}

type Priced = Pick<MeteredCount, "price_amount" | "price_currency" | "state" | "requests">;

/** One row for each value of the key and currency, the one with most requests first. */
function split<Row extends Priced, Key extends object>(
  rows: readonly Row[],
  key: (row: Row) => Key,
): readonly (Key & Amounts)[] {
  const groups = Map.groupBy(rows, (row) => JSON.stringify([key(row), row.price_currency]));
  const sorted = [...groups].sort(
    ([left, lefts], [right, rights]) =>
      requestsOf(rights) - requestsOf(lefts) || (left < right ? -1 : 1),
  );
  return sorted.flatMap(([, group]) => {
    const [first] = group;
    return first === undefined
      ? []
      : [{ ...key(first), ...amountsOf(first.price_currency, group) }];
  });
}

function amountsOf(currency: string, group: readonly Priced[]): Amounts {
  const inState = (wanted: SettlementState): Amount =>
    sumOf(group.filter(({ state }) => state === wanted));
  return {
    currency,
    held: inState("held"),
    settled: inState("settled"),
    void: inState("void"),
    unmatched: inState("unmatched"),
  };
}

function sumOf(group: readonly Priced[]): Amount {
  const amount = sumDecimals(group.map((row) => [row.price_amount, row.requests]));
  return { requests: requestsOf(group), amount };
}

function requestsOf(rows: readonly { readonly requests: number }[]): number {
  return rows.reduce((sum, { requests }) => sum + requests, 0);
}

/** One metered request, as an invoice lists it. */
export interface MeteredLine {
  readonly ts: string;
  readonly event_id: string;
  readonly receipt_id: string | null;
  readonly site_id: string | null;
  readonly host: string;
  readonly bot_id: string;
  readonly bot_operator: string | null;
  readonly rule_id: string;
  readonly method: string;
  readonly path: string;
  readonly query: string | null;
  readonly price_amount: string;
  readonly price_currency: string;
  readonly price_unit: string;
  readonly state: SettlementState;
  readonly upstream_status: number | null;
  readonly bytes: number | null;
}

/** The columns of an invoice, in order. */
export const INVOICE_COLUMNS: readonly (keyof MeteredLine)[] = [
  "ts",
  "event_id",
  "receipt_id",
  "site_id",
  "host",
  "bot_id",
  "bot_operator",
  "rule_id",
  "method",
  "path",
  "query",
  "price_amount",
  "price_currency",
  "price_unit",
  "state",
  "upstream_status",
  "bytes",
];
