import type { Bot } from "../bot/bot.ts";
import { isVerifiable } from "../bot/bot.ts";
import { keyPath } from "../policy/charge.ts";
import type { Limit, Policy, Rule } from "../policy/policy.ts";
import type { NoteCode, RobotsNote } from "./note.ts";
import { assumedVerification, type Outlook } from "./outlook.ts";
import type { Point } from "./points.ts";

/** A crawler's rules that limit it somewhere, and whether each does so wherever it is not blocked. */
export interface LimitedCourse {
  readonly rule: Rule;
  readonly limit: Limit;
  readonly isEverywhere: boolean;
}

/** The limits that hold for a crawler, unless a rule decides that robots.txt cannot see. */
export function limitsOf(outlook: Outlook, points: readonly Point[]): readonly LimitedCourse[] {
  const open = points.filter((point) => !outlook.isBlocked(point.path));
  const found = new Map<Rule, { readonly limit: Limit; count: number }>();
  for (const point of open) {
    const rule = outlook.deciders(point.path).at(-1);
    if (rule?.action.kind !== "rate_limit") continue;
    const entry = found.get(rule) ?? { limit: rule.action.limit, count: 0 };
    entry.count++;
    found.set(rule, entry);
  }
  return Array.from(found, ([rule, { limit, count }]) => ({
    rule,
    limit,
    isEverywhere: count === open.length,
  }));
}

/** How often one bucket is shared: by rule and the value of its key, for a bot. */
export type Sharers = (rule: Rule, bot: Bot) => number;

/** A Crawl-delay in whole seconds, or undefined; and what it leaves out. */
export interface Delay {
  readonly seconds: number | undefined;
  readonly notes: readonly RobotsNote[];
}

/** The longest of the delays that a crawler's limits ask for. */
export function delayOf(
  policy: Policy,
  bot: Bot,
  limits: readonly LimitedCourse[],
  sharers: Sharers,
): Delay {
  const delays = limits.map((limited) => delayFor(policy, bot, limited, sharers));
  const seconds = delays.flatMap((delay) => delay.seconds ?? []);
  return {
    seconds: seconds.length === 0 ? undefined : Math.max(...seconds),
    notes: delays.flatMap((delay) => delay.notes),
  };
}

function delayFor(
  policy: Policy,
  bot: Bot,
  { rule, limit, isEverywhere }: LimitedCourse,
  sharers: Sharers,
): Delay {
  const value = bucketValue(policy, bot, limit);
  if (value === undefined) {
    return { seconds: undefined, notes: [note(rule, "limit_key", unpaceable(limit))] };
  }
  const exact = (60 * (value === BY_ADDRESS ? 1 : sharers(rule, bot))) / limit.rpm;
  const seconds = Math.ceil(exact);
  const fast = exact < 1 ? [note(rule, "limit_above_60", tooFast(policy, limit))] : [];
  if (exact < 1 && !policy.site.rateLimitRequired) return { seconds: undefined, notes: fast };
  const partial = isEverywhere ? [] : [note(rule, "limit_partial", PARTIAL)];
  const long = seconds > LONG_SECONDS ? [note(rule, "long_delay", tooLong(seconds))] : [];
  return { seconds, notes: [...fast, ...partial, ...long] };
}

/** Counts the crawlers that take from one bucket, over all groups of the file. */
export function createSharers(
  policy: Policy,
  limited: readonly { readonly bot: Bot; readonly limits: readonly LimitedCourse[] }[],
): Sharers {
  const counts = new Map<string, number>();
  for (const { bot, limits } of limited) {
    for (const { rule, limit } of limits) {
      const key = bucketKey(policy, bot, rule, limit);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  return (rule, bot) => {
    if (rule.action.kind !== "rate_limit") return 1;
    return counts.get(bucketKey(policy, bot, rule, rule.action.limit)) ?? 1;
  };
}

function bucketKey(policy: Policy, bot: Bot, rule: Rule, limit: Limit): string {
  return JSON.stringify([rule.id, bucketValue(policy, bot, limit)]);
}

/** Bing reads delays up to this many seconds. */
const LONG_SECONDS = 30;

/** The client address; a blank value counts by it too. */
const BY_ADDRESS = "";

/** What selects the bucket of a crawler; undefined where that changes from request to request. */
function bucketValue(policy: Policy, bot: Bot, { key }: Limit): string | undefined {
  if (key.kind === "header") return undefined;
  switch (key.field) {
    case "bot.id":
    case "labels.bot_id":
      return bot.id;
    case "bot.name":
      return bot.name;
    case "bot.class":
      return bot.class;
    case "bot.operator":
      return bot.operator;
    case "bot.claimed":
      return String(!bot.isDefault);
    case "bot.verified":
      return String(assumedVerification(bot) === "verified");
    case "bot.verification":
      return assumedVerification(bot);
    case "bot.verifiable":
      return String(!bot.isDefault && isVerifiable(bot));
    case "site.id":
    case "site.host":
    case "site.mode":
      return policy.site.id;
    case "request.ip":
      return BY_ADDRESS;
    case "request.host":
    case "request.method":
    case "request.path":
    case "request.raw_path":
    case "request.query":
    case "request.scheme":
    case "request.user_agent":
    case "labels.host":
    case "labels.path":
      return undefined;
  }
}

function note(rule: Rule, code: NoteCode, message: string): RobotsNote {
  return { ruleId: rule.id, code, message, witness: undefined };
}

function unpaceable(limit: Limit): string {
  return `limits by \`${keyPath(limit.key)}\`, which no Crawl-delay can say; left out`;
}

function tooFast(policy: Policy, { rpm }: Limit): string {
  const end = policy.site.rateLimitRequired ? "`1` is written" : "no delay is written";
  return `allows ${rpm} requests a minute, more than one a second; ${end}`;
}

const PARTIAL = "limits a part of the site; its Crawl-delay is for all of it";

function tooLong(seconds: number): string {
  return `asks for ${seconds} seconds between requests; some crawlers take no more than ${LONG_SECONDS}`;
}
