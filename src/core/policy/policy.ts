import type { Bot, Verification } from "../bot/bot.ts";
import type { CheckedExpression } from "../cel/check.ts";
import type { CrawlRequest } from "../request.ts";
import type { Steps } from "../steps.ts";

/** A sum of money as written in the policy: a decimal string, never a binary fraction. */
export interface Price {
  readonly amount: string;
  /** ISO 4217. */
  readonly currency: string;
  readonly unit: "request";
}

/** The inputs, besides header fields, that can select a bucket. */
export type LimitField =
  | "bot.id"
  | "bot.name"
  | "bot.class"
  | "bot.claimed"
  | "bot.verified"
  | "bot.verification"
  | "bot.verifiable"
  | "bot.operator"
  | "request.host"
  | "request.method"
  | "request.path"
  | "request.raw_path"
  | "request.query"
  | "request.scheme"
  | "request.ip"
  | "request.user_agent"
  | "labels.bot_id"
  | "labels.host"
  | "labels.path"
  | "site.id"
  | "site.host"
  | "site.mode";

/** What selects a bucket. */
export type LimitKey =
  | { readonly kind: "field"; readonly field: LimitField }
  /** `name` is lower-case. */
  | { readonly kind: "header"; readonly name: string };

/** A token bucket: `burst` tokens, refilled at `rpm` a minute. */
export interface Limit {
  readonly key: LimitKey;
  readonly rpm: number;
  readonly burst: number;
}

export type Action =
  | { readonly kind: "allow" }
  | {
      readonly kind: "block";
      readonly status: number;
      readonly reason: string;
      readonly price: Price | undefined;
      /** URL of the licence terms, for 402. */
      readonly terms: string | undefined;
    }
  | { readonly kind: "rate_limit"; readonly limit: Limit }
  | { readonly kind: "allow_metered"; readonly price: Price };

/** A rule that is not the operator's own line but ours: `runtime.default_action`. */
export const DEFAULT_RULE_ID = "runtime.default_action";

export interface Rule {
  readonly id: string;
  /** Lower runs first; ties by file order. The default action has none. */
  readonly priority: number | undefined;
  readonly when: CheckedExpression | undefined;
  readonly action: Action;
  readonly mode: "enforce" | "shadow";
  readonly receipt: boolean;
  readonly tags: readonly string[];
}

export interface Site {
  readonly id: string;
  /** As written, lower-case: exact names, `*.example.com`, or `*`. The first is `site.host` in CEL. */
  readonly hosts: readonly [string, ...string[]];
  /** `observe` is another word for `shadow`, kept so that it appears as written. */
  readonly mode: "shadow" | "observe" | "enforce";
  readonly rateLimitRequired: boolean;
  readonly caseInsensitivePaths: boolean;
}

export interface RobotsSettings {
  readonly serve: boolean;
  readonly inShadow: "publish" | "pass";
  readonly sitemaps: readonly string[];
  readonly contentSignals: Readonly<Record<string, "yes" | "no">>;
  readonly extra: readonly string[];
}

/** Constants that rules may read: lists of strings or of integers. */
export type Sets = ReadonlyMap<string, readonly string[] | readonly bigint[]>;

/** What the rules say of one reading of a path. */
export interface Selection {
  /** The first enforced rule that matches, else the default action's rule. */
  readonly rule: Rule;
  /** Shadow rules that matched before it, in order. */
  readonly shadowed: readonly Rule[];
  /** Rules whose condition could not be evaluated; such a rule does not match. */
  readonly faults: readonly RuleFault[];
}

export interface RuleFault {
  readonly ruleId: string;
  readonly message: string;
}

/** Runs the rules. Pure and total: a rule's fault is a value in the selection. */
export interface Evaluator {
  /** Whether a rule reads `bot.by_ip`, so that requests must carry it. */
  readonly readsByIp: boolean;
  /** `path` is one of the request's readings. */
  select(bot: Bot, verification: Verification, request: CrawlRequest, path: string): Selection;
  /** Makes ready what the first request of this kind would otherwise wait for. */
  warm(bot: Bot, verification: Verification): Steps<void>;
}

/** One site's policy, compiled: all that a decision needs, nothing left to parse. */
export interface Policy {
  /** Where it came from, for people. */
  readonly file: string;
  readonly site: Site;
  readonly failMode: "block" | "allow";
  readonly verify: "when_needed" | "always";
  readonly robots: RobotsSettings;
  readonly ledger: {
    readonly enabled: boolean;
    readonly retentionMs: number;
    readonly ip: "full" | "truncated" | "hashed" | "none" | undefined;
    readonly query: "keep" | "drop";
  };
  readonly receipts: { readonly enabled: boolean; readonly keyFile: string | undefined };
  /** Named bots first, in file order; the default bot last. */
  readonly bots: readonly Bot[];
  readonly defaultBot: Bot;
  /** The named bots in the order in which a User-Agent is tried: an own bot before one of the catalog. */
  readonly claimants: readonly Bot[];
  readonly sets: Sets;
  /** In order of evaluation. */
  readonly rules: readonly Rule[];
  readonly defaultRule: Rule;
  /** SHA-256 (hex) of the RFC 8785 form of the policy with defaults filled and `use:` resolved. */
  readonly hash: string;
  /** The bot that a User-Agent claims to be; the default bot when it claims none. */
  readonly identify: (userAgent: string) => Bot;
  readonly evaluator: Evaluator;
}

/** Whether what the policy decides is also done. */
export function isEnforced(site: Site): boolean {
  return site.mode === "enforce";
}
