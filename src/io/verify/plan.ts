import { dirname } from "node:path";
import type { Bot, BotVerifier } from "../../core/bot/bot.ts";
import { type AddressSet, type Cidr, createAddressSet, parseCidr } from "../../core/cidr.ts";
import type { Policy } from "../../core/policy/policy.ts";
import type { KeySource } from "./key-source.ts";
import { createOrigin, type ListOrigin } from "./list-origin.ts";
import type { ListSource } from "./list-source.ts";

/** A bot's verifiers, made ready: nothing is parsed or looked for while a request waits. */
export interface Plan {
  readonly bot: Bot;
  readonly means: readonly Means[];
}

export type RangesVerifier = Extract<BotVerifier, { readonly kind: "ip_ranges" }>;

export interface RangesMeans {
  readonly kind: "ip_ranges";
  readonly verifier: RangesVerifier;
  readonly sources: readonly ListSource[];
}

/** One way to prove a bot. */
export type Means =
  | { readonly kind: "static_ranges"; readonly set: AddressSet }
  | RangesMeans
  | { readonly kind: "reverse_dns"; readonly suffixes: readonly string[] }
  | { readonly kind: "web_bot_auth"; readonly directories: readonly KeySource[] };

/** Finds or opens what plans rely on. */
export interface SourceFinder {
  /** `refreshMs` is how often this user wants the list. */
  list(origin: ListOrigin, refreshMs: number): ListSource;
  keys(origin: string): KeySource;
}

/** Makes a bot's plan. Paths of `file` sources are relative to the policy's file. */
export function createPlan(policy: Policy, bot: Bot, find: SourceFinder): Plan {
  const folder = dirname(policy.file);
  return { bot, means: bot.verifiers.map((verifier) => createMeans(verifier, folder, find)) };
}

function createMeans(verifier: BotVerifier, folder: string, find: SourceFinder): Means {
  switch (verifier.kind) {
    case "static_ranges":
      return { kind: "static_ranges", set: createAddressSet(verifier.cidrs.flatMap(blockOf)) };
    case "ip_ranges":
      return {
        kind: "ip_ranges",
        verifier,
        sources: verifier.sources.map((source) =>
          find.list(createOrigin(source, folder), verifier.refreshMs),
        ),
      };
    case "reverse_dns":
      return { kind: "reverse_dns", suffixes: verifier.allowedSuffixes };
    case "web_bot_auth":
      return { kind: "web_bot_auth", directories: verifier.directories.map(find.keys) };
  }
}

function blockOf(text: string): readonly Cidr[] {
  const result = parseCidr(text);
  if (result.kind === "bad") throw new Error(`\`${text}\` ${result.reason}`);
  return [result.cidr];
}

/** How a source stands with one verifier, at one time. */
export type SourceState = "fresh" | "stale" | "expired" | "failed" | "not_fetched";

/** Only `fresh` and `stale` lists are believed; a stale one is expired and still allowed. */
export function listState(
  source: ListSource,
  verifier: RangesVerifier,
  nowMs: number,
): SourceState {
  const held = source.held();
  if (held === undefined) return source.error() === undefined ? "not_fetched" : "failed";
  const expiresAtMs = held.fetchedAtMs + verifier.refreshMs;
  if (nowMs < expiresAtMs) return "fresh";
  const allowed = verifier.staleAction === "use_stale" && nowMs < expiresAtMs + verifier.maxStaleMs;
  return allowed ? "stale" : "expired";
}
