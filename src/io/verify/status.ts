import { formatDuration } from "../../core/duration.ts";
import type { KeySource, KeySourceState } from "./key-source.ts";
import type { ListSource } from "./list-source.ts";
import { listState, type Means, type Plan, type RangesVerifier, type SourceState } from "./plan.ts";

/** How one source of one bot's verifier stands, in the names of `verifiers status` (contract 7). */
export interface SourceStatus {
  readonly bot_id: string;
  readonly type: "none" | Means["kind"];
  readonly source: string | null;
  readonly state: SourceState | "not_applicable";
  readonly cidrs: number | null;
  /** RFC 3339. */
  readonly fetched_at: string | null;
  readonly expires_at: string | null;
  readonly stale_action: RangesVerifier["staleAction"] | null;
  /** As a policy writes it. */
  readonly max_stale: string | null;
  readonly error: string | null;
}

/** The state of everything a plan relies on; at least one line a bot. */
export function statusOf(plan: Plan, nowMs: number): readonly SourceStatus[] {
  const lines = plan.means.flatMap((means) => statusOfMeans(plan.bot.id, means, nowMs));
  return lines.length === 0 ? [notApplicable(plan.bot.id, "none", null)] : lines;
}

/** Numbers of one source of one bot, for operators' graphs. */
export interface SourceCounts {
  readonly botId: string;
  readonly source: string;
  /** Undefined while nothing was read. */
  readonly ageMs: number | undefined;
  /** Blocks of a list, keys of a directory. */
  readonly entries: number;
  /** Attempts that failed since the start. */
  readonly failures: number;
}

/** The numbers of every source that a plan relies on. */
export function countsOf(plan: Plan, nowMs: number): readonly SourceCounts[] {
  const { id: botId } = plan.bot;
  const ageOf = (fetchedAtMs: number | undefined): number | undefined =>
    fetchedAtMs === undefined ? undefined : nowMs - fetchedAtMs;
  return plan.means.flatMap((means): readonly SourceCounts[] => {
    if (means.kind === "ip_ranges") {
      return means.sources.map((source) => {
        const held = source.held();
        const entries = held?.list.prefixes.length ?? 0;
        const ageMs = ageOf(held?.fetchedAtMs);
        return { botId, source: source.origin.label, ageMs, entries, failures: source.failures() };
      });
    }
    if (means.kind !== "web_bot_auth") return [];
    return means.directories.map((source) => {
      const { keys: entries, failures, fetchedAtMs } = source.state();
      return { botId, source: source.origin, ageMs: ageOf(fetchedAtMs), entries, failures };
    });
  });
}

function statusOfMeans(botId: string, means: Means, nowMs: number): readonly SourceStatus[] {
  switch (means.kind) {
    case "ip_ranges":
      return means.sources.map((source) => statusOfSource(botId, source, means.verifier, nowMs));
    case "static_ranges":
      return [notApplicable(botId, means.kind, means.set.size)];
    case "reverse_dns":
      return [notApplicable(botId, means.kind, null)];
    case "web_bot_auth":
      return means.directories.map((source) => statusOfKeys(botId, source, nowMs));
  }
}

function notApplicable(
  botId: string,
  type: SourceStatus["type"],
  cidrs: number | null,
): SourceStatus {
  return {
    bot_id: botId,
    type,
    source: null,
    state: "not_applicable",
    cidrs,
    fetched_at: null,
    expires_at: null,
    stale_action: null,
    max_stale: null,
    error: null,
  };
}

function statusOfSource(
  botId: string,
  source: ListSource,
  verifier: RangesVerifier,
  nowMs: number,
): SourceStatus {
  const held = source.held();
  return {
    bot_id: botId,
    type: "ip_ranges",
    source: source.origin.label,
    state: listState(source, verifier, nowMs),
    cidrs: held?.list.prefixes.length ?? null,
    fetched_at: timeOf(held?.fetchedAtMs),
    expires_at: timeOf(held && held.fetchedAtMs + verifier.refreshMs),
    stale_action: verifier.staleAction,
    max_stale: formatDuration(verifier.maxStaleMs),
    error: source.error() ?? null,
  };
}

/** A directory holds keys, not blocks; an expired one is still believed while it cannot be read. */
function statusOfKeys(botId: string, source: KeySource, nowMs: number): SourceStatus {
  const { fetchedAtMs, expiresAtMs, error } = source.state();
  return {
    ...notApplicable(botId, "web_bot_auth", null),
    source: source.origin,
    state: keysState(source.state(), nowMs),
    fetched_at: timeOf(fetchedAtMs),
    expires_at: timeOf(expiresAtMs),
    error: error ?? null,
  };
}

function keysState(state: KeySourceState, nowMs: number): SourceState {
  if (state.expiresAtMs === undefined) return state.error === undefined ? "not_fetched" : "failed";
  return nowMs < state.expiresAtMs ? "fresh" : "stale";
}

function timeOf(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
