import type { Bot, Verification } from "../bot/bot.ts";
import { botInputs, createBinder, planCondition } from "../cel/reference.ts";
import { parseAddress } from "../cidr.ts";
import type { DecisionEvent } from "../event.ts";
import { keyPath } from "../policy/charge.ts";
import type { Policy, Rule } from "../policy/policy.ts";
import type { RestoredPolicy } from "../policy/restore.ts";
import { toByteText } from "../readings.ts";
import type { CrawlRequest } from "../request.ts";
import { parseTarget, type Target } from "../target.ts";

/** What a rule says of one reading: `unknown` where it reads what was not recorded. */
export type RuleResult =
  | { readonly kind: "matches" }
  | { readonly kind: "does_not_match" }
  | { readonly kind: "fails"; readonly message: string }
  | { readonly kind: "unknown"; readonly missing: readonly string[] };

export interface ConsideredRule {
  readonly rule_id: string;
  readonly priority: number | null;
  readonly mode: "enforce" | "shadow";
  readonly when: string | null;
  /** Whether the record says that it decided. */
  readonly decided: boolean;
  /** One result for each reading, in order of the readings; a rule behind a match is not considered. */
  readonly results: readonly (RuleResult | { readonly kind: "not_considered" })[];
  readonly limit: { readonly key: string; readonly rpm: number; readonly burst: number } | null;
}

/** One decision shown whole. */
export interface Explanation {
  readonly event: DecisionEvent;
  /** What the policy knows of the bot; null where it does not know it. */
  readonly bot: Pick<Bot, "id" | "name" | "class" | "operator"> | null;
  /** Null where the rules were not asked, or the policy is not kept. */
  readonly readings: readonly string[] | null;
  readonly rules: readonly ConsideredRule[] | null;
  /** Why nothing more can be said; null where all is. */
  readonly note: string | null;
}

/** Rules that decide before the policy is asked. */
const UNJUDGED: ReadonlySet<string> = new Set([
  "runtime.malformed_request",
  "runtime.early_data",
  "runtime.robots_txt",
  "runtime.unknown_host",
]);

/** Evaluates the rules of the policy that decided again, on what was recorded. */
export function explainEvent(
  event: DecisionEvent,
  policy: RestoredPolicy | undefined,
): Explanation {
  const nothing = { event, bot: null, readings: null, rules: null };
  if (policy === undefined) {
    return { ...nothing, note: "the policy that decided is not in the ledger" };
  }
  const known = policy.content.bots.find(({ id }) => id === event.bot_id);
  const bot = known ?? policy.content.defaultBot;
  const shown = { id: bot.id, name: bot.name, class: bot.class, operator: bot.operator };
  if (UNJUDGED.has(event.rule_id)) {
    return { ...nothing, bot: shown, note: "decided before the rules were asked" };
  }
  const target = targetOf(event, policy);
  if (target === undefined) {
    return { ...nothing, bot: shown, note: "the path was too long to be recorded whole" };
  }
  const rules = considerRules(policy, event, bot, target);
  return { event, bot: shown, readings: target.readings, rules, note: null };
}

/** Where texts are cut (contract 6): what is as long as that may have been longer. */
const LONGEST_PATH = 2048;
const LONGEST_USER_AGENT = 512;

function targetOf(event: DecisionEvent, { content }: RestoredPolicy): Target | undefined {
  const path = event.raw_path ?? event.path;
  if (Buffer.byteLength(path) >= LONGEST_PATH - 3) return undefined;
  const uri = event.query === null ? path : `${path}?${event.query}`;
  const parsed = parseTarget(toByteText(uri), content.site.caseInsensitivePaths);
  return parsed.kind === "target" ? parsed.target : undefined;
}

function considerRules(
  policy: RestoredPolicy,
  event: DecisionEvent,
  bot: Bot,
  target: Target,
): readonly ConsideredRule[] {
  const judge = createJudge(policy, event, bot, target);
  const isDecided = target.readings.map(() => false);
  return [...policy.content.rules, policy.content.defaultRule].map((rule) => {
    const results = target.readings.map((path, index) => {
      if (isDecided[index] === true) return { kind: "not_considered" } as const;
      const result = judge(rule, path);
      if (result.kind === "matches" && rule.mode === "enforce") isDecided[index] = true;
      return result;
    });
    return {
      rule_id: rule.id,
      priority: rule.priority ?? null,
      mode: rule.mode,
      when: rule.when?.source ?? null,
      decided: rule.id === event.rule_id,
      results,
      limit: limitOf(rule),
    };
  });
}

function limitOf({ action }: Rule): ConsideredRule["limit"] {
  if (action.kind !== "rate_limit") return null;
  const { key, rpm, burst } = action.limit;
  return { key: keyPath(key), rpm, burst };
}

type Judge = (rule: Rule, path: string) => RuleResult;

function createJudge(
  { content, environment }: RestoredPolicy,
  event: DecisionEvent,
  bot: Bot,
  target: Target,
): Judge {
  const bind = createBinder(content.site, environment);
  const isKnown = knowledgeOf(event, content.ledger);
  const verification: Verification =
    event.verification === "not_needed" ? "unverifiable" : event.verification;
  const inputs = botInputs(bot, verification);
  const request = requestOf(event, target);
  return ({ when }, path) => {
    if (when === undefined) return { kind: "matches" };
    const missing = [...when.reads].filter((read) => !isKnown(read));
    if (missing.length > 0) return { kind: "unknown", missing };
    const outcome = planCondition(when)(bind(inputs, request, path));
    if (outcome.kind === "error") return { kind: "fails", message: outcome.message };
    return { kind: outcome.value ? "matches" : "does_not_match" };
  };
}

/** What the record holds whole of the inputs that a rule may read. */
function knowledgeOf(event: DecisionEvent, kept: Policy["ledger"]): (read: string) => boolean {
  const userAgent = event.user_agent ?? "";
  const isWholeAgent = Buffer.byteLength(userAgent) < LONGEST_USER_AGENT - 3;
  const recorded = new Map<string, boolean>([
    ["request.ip", isWholeAddress(event.ip, kept.ip)],
    ["request.query", event.query !== null || kept.query === "keep"],
    ["request.user_agent", isWholeAgent],
    ["request.headers.user-agent", isWholeAgent && userAgent !== ""],
    ["bot.verified", event.verification !== "not_needed"],
    ["bot.verification", event.verification !== "not_needed"],
    ["bot.by_ip", false],
    ["request.scheme", false],
  ]);
  return (read) => recorded.get(read) ?? !read.startsWith("request.headers");
}

/** A network's address looks like a client's: where it may be one, the client's is not known. */
function isWholeAddress(ip: string | null, privacy: string | undefined): boolean {
  if (ip === null || parseAddress(ip) === undefined) return false;
  if (privacy !== undefined) return privacy === "full";
  return !ip.endsWith(".0") && !ip.endsWith("::");
}

function requestOf(event: DecisionEvent, target: Target): CrawlRequest {
  const userAgent = event.user_agent ?? "";
  const fields = new Map(userAgent === "" ? [] : [["user-agent", userAgent]]);
  const ip = event.ip ?? "";
  return {
    method: event.method,
    scheme: "https",
    host: event.host,
    authority: event.host,
    target,
    address: { ip, limitKey: ip, isPublic: false },
    userAgent,
    headers: { get: (name) => fields.get(name), all: () => fields },
  };
}
