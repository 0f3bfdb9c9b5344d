import { sumDecimals } from "./decimal.ts";
import type { PathTally, RuleTally, Tally } from "./tally.ts";

/** How requests ended. Every request is allowed, blocked or would be blocked: one of the three. */
export interface OutcomeCounts {
  readonly requests: number;
  /** Served, and enforce would have served it too. */
  readonly allowed: number;
  /** Refused, for whatever reason. */
  readonly blocked: number;
  /** Served, and enforce would have refused it. */
  readonly would_block: number;
  readonly metered: number;
}

export interface BotCounts extends OutcomeCounts {
  readonly bot_id: string;
  readonly bot_class: string;
  readonly verified: number;
  /** Claims that are not true: spoofed. */
  readonly refuted: number;
  readonly unverifiable: number;
  readonly unavailable: number;
  readonly not_needed: number;
}

export interface MeteredAmount {
  readonly currency: string;
  /** The exact sum, as a decimal. */
  readonly amount: string;
  readonly requests: number;
}

/** What enforcing a site would have refused of one kind of visitor. */
export interface EnforcingChange {
  readonly site_id: string | null;
  readonly bot_id: string;
  readonly bot_class: string;
  readonly verified: boolean;
  readonly would_block: number;
  readonly would_rate_limit: number;
  readonly rules: readonly string[];
}

/** What a ledger says of a time, for people and programs (contract 7). */
export interface LedgerReport extends OutcomeCounts {
  /** What the counts start from, to the millisecond; the start of an hour where the hour was summed. */
  readonly since: string;
  readonly until: string;
  readonly site_id: string | null;
  /** Of `blocked`: over a limit. */
  readonly rate_limited: number;
  /** Of `would_block`: over a limit. */
  readonly would_rate_limit: number;
  /** Of `blocked`: a verifier could not complete, and the site fails closed. */
  readonly verifier_errors: number;
  readonly by_bot: readonly BotCounts[];
  readonly by_rule: readonly (OutcomeCounts & { readonly rule_id: string })[];
  /** Approximate: of each hour and site, the 1,000 paths asked for most. */
  readonly top_paths: readonly Omit<PathTally, "hour" | "site_id">[];
  readonly by_reason: readonly (OutcomeCounts & { readonly reason: string })[];
  readonly by_verification: readonly (OutcomeCounts & { readonly verification: string })[];
  readonly by_site: readonly (OutcomeCounts & { readonly site_id: string | null })[];
  readonly metered_amounts: readonly MeteredAmount[];
  /** Matches of shadow rules, which change nothing and are not part of `would_block`. */
  readonly shadowed: readonly Omit<RuleTally, "hour" | "site_id" | "kind">[];
  readonly faults: readonly { readonly rule_id: string; readonly requests: number }[];
  /** Sites that do not enforce: what enforcing would change, verified search crawlers first. */
  readonly enforcing_would_change: readonly EnforcingChange[];
  /** Events that never reached the ledger: its queue was full, or they could not be stored. */
  readonly lost: number;
}

/** What a report is made of. */
export interface ReportParts {
  readonly since: string;
  readonly until: string;
  readonly siteId: string | undefined;
  readonly tallies: readonly Omit<Tally, "hour">[];
  readonly paths: readonly Omit<PathTally, "hour" | "site_id">[];
  readonly rules: readonly Omit<RuleTally, "hour" | "site_id">[];
  readonly lost: number;
}

/** Paths that a report names. */
const TOP_PATHS = 25;

type Count = Omit<Tally, "hour">;

/** Adds counts up to a report. */
export function createReport(parts: ReportParts): LedgerReport {
  const { tallies } = parts;
  const outcomes = countOutcomes(tallies);
  const limited = tallies.filter(({ action }) => action === "rate_limit_exceeded");
  const failed = tallies.filter(({ rule_id }) => rule_id === "runtime.verifier_error");
  return {
    since: parts.since,
    until: parts.until,
    site_id: parts.siteId ?? null,
    requests: outcomes.requests,
    allowed: outcomes.allowed,
    blocked: outcomes.blocked,
    would_block: outcomes.would_block,
    rate_limited: countOutcomes(limited).blocked,
    would_rate_limit: countOutcomes(limited).would_block,
    metered: outcomes.metered,
    verifier_errors: countOutcomes(failed).blocked,
    by_bot: groupBy(tallies, ({ bot_id }) => bot_id).map(countBot),
    by_rule: groupBy(tallies, ({ rule_id }) => rule_id).map(([rule_id, group]) => ({
      rule_id,
      ...countOutcomes(group),
    })),
    top_paths: mergePaths(parts.paths).slice(0, TOP_PATHS),
    by_reason: countReasons(tallies),
    by_verification: groupBy(tallies, (count) => count.verification).map(
      ([verification, group]) => ({ verification, ...countOutcomes(group) }),
    ),
    by_site: groupBy(tallies, ({ site_id }) => site_id).map(([site_id, group]) => ({
      site_id: site_id === "" ? null : site_id,
      ...countOutcomes(group),
    })),
    metered_amounts: sumAmounts(tallies),
    ...countRules(parts.rules),
    enforcing_would_change: findChanges(tallies),
    lost: parts.lost,
  };
}

function countOutcomes(counts: readonly Count[]): OutcomeCounts {
  let requests = 0;
  let blocked = 0;
  let would_block = 0;
  let metered = 0;
  for (const count of counts) {
    requests += count.requests;
    if (count.status >= 400) blocked += count.requests;
    else if (count.would_block) would_block += count.requests;
    if (count.action === "allow_metered") metered += count.requests;
  }
  return { requests, allowed: requests - blocked - would_block, blocked, would_block, metered };
}

/** Groups by a text, the group with most requests first, then by the text. */
function groupBy(
  counts: readonly Count[],
  key: (count: Count) => string,
): readonly (readonly [string, readonly Count[]])[] {
  const groups = Map.groupBy(counts, key);
  return [...groups].sort(
    ([left, lefts], [right, rights]) =>
      requestsOf(rights) - requestsOf(lefts) || (left < right ? -1 : 1),
  );
}

function requestsOf(counts: readonly { readonly requests: number }[]): number {
  return counts.reduce((sum, { requests }) => sum + requests, 0);
}

function countBot([bot_id, group]: readonly [string, readonly Count[]]): BotCounts {
  const having = (verification: string) =>
    requestsOf(group.filter((count) => count.verification === verification));
  return {
    bot_id,
    bot_class: group[0]?.bot_class ?? "",
    ...countOutcomes(group),
    verified: having("verified"),
    refuted: having("refuted"),
    unverifiable: having("unverifiable"),
    unavailable: having("unavailable"),
    not_needed: having("not_needed"),
  };
}

function countReasons(counts: readonly Count[]): LedgerReport["by_reason"] {
  const reasoned = counts.filter(({ reason }) => reason !== "");
  return groupBy(reasoned, ({ reason }) => reason).map(([reason, group]) => ({
    reason,
    ...countOutcomes(group),
  }));
}

function sumAmounts(counts: readonly Count[]): readonly MeteredAmount[] {
  const metered = counts.filter(({ action }) => action === "allow_metered");
  return groupBy(metered, (count) => count.price_currency).map(([currency, group]) => ({
    currency,
    amount: sumDecimals(group.map(({ price_amount, requests }) => [price_amount, requests])),
    requests: requestsOf(group),
  }));
}

function mergePaths(paths: ReportParts["paths"]): LedgerReport["top_paths"] {
  const merged = [...Map.groupBy(paths, ({ path }) => path)].map(([path, group]) => ({
    path,
    requests: requestsOf(group),
    blocked: group.reduce((sum, { blocked }) => sum + blocked, 0),
    would_block: group.reduce((sum, { would_block }) => sum + would_block, 0),
  }));
  return merged.sort(
    (left, right) => right.requests - left.requests || (left.path < right.path ? -1 : 1),
  );
}

function countRules(rules: ReportParts["rules"]): Pick<LedgerReport, "shadowed" | "faults"> {
  const merged = [
    ...Map.groupBy(rules, ({ kind, rule_id, action, status }) =>
      JSON.stringify([kind, rule_id, action, status]),
    ).values(),
  ].flatMap((group) => (group[0] ? [{ ...group[0], requests: requestsOf(group) }] : []));
  merged.sort((left, right) => right.requests - left.requests);
  return {
    shadowed: merged
      .filter(({ kind }) => kind === "shadowed")
      .map(({ rule_id, action, status, requests }) => ({ rule_id, action, status, requests })),
    faults: merged
      .filter(({ kind }) => kind === "fault")
      .map(({ rule_id, requests }) => ({ rule_id, requests })),
  };
}

/** Who would notice, those first whom a site would miss most. */
function findChanges(counts: readonly Count[]): readonly EnforcingChange[] {
  const refused = counts.filter(({ would_block }) => would_block);
  const groups = groupBy(refused, ({ site_id, bot_id, verification }) =>
    JSON.stringify([site_id, bot_id, verification === "verified"]),
  );
  const changes = groups.flatMap(([, group]) => {
    const first = group[0];
    if (first === undefined) return [];
    const limited = group.filter(({ action }) => action === "rate_limit_exceeded");
    return [
      {
        site_id: first.site_id === "" ? null : first.site_id,
        bot_id: first.bot_id,
        bot_class: first.bot_class,
        verified: first.verification === "verified",
        would_block: requestsOf(group),
        would_rate_limit: requestsOf(limited),
        rules: [...new Set(group.map(({ rule_id }) => rule_id))].sort(),
      },
    ];
  });
  return changes.sort((left, right) => missed(right) - missed(left));
}

/** Verified search crawlers bring readers; other verified bots come next; sorting keeps the rest. */
function missed({ verified, bot_class }: EnforcingChange): number {
  if (!verified) return 0;
  return bot_class === "search" ? 2 : 1;
}
