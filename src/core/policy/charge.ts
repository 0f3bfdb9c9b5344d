import { isVerifiable } from "../bot/bot.ts";
import type { Charge } from "../limit.ts";
import type { CrawlRequest } from "../request.ts";
import type { Claim } from "./answer.ts";
import type { LimitField, LimitKey, Rule, Site } from "./policy.ts";

/** The token that a rate-limited rule takes for a request, and from which bucket (contract 4, Limits). */
export function chargeFor(site: Site, claim: Claim, request: CrawlRequest, rule: Rule): Charge {
  if (rule.action.kind !== "rate_limit") throw new Error(`rule ${rule.id} has no limit`);
  const { limit } = rule.action;
  const value = keyValue(limit.key, site, claim, request);
  // A blank value must not pool strangers: they count by address, apart from any real value.
  const key = value === "" ? `\u0001${request.address.limitKey}` : `\u0002${value}`;
  const bucket = `${site.id}\u0000${rule.id}\u0000${keyPath(limit.key)}\u0000${key}`;
  return { ruleId: rule.id, limit, bucket, shadow: rule.mode === "shadow" };
}

/** The key as a policy writes it: `bot.id`, `request.headers.x-api-key`. */
export function keyPath(key: LimitKey): string {
  return key.kind === "header" ? `request.headers.${key.name}` : key.field;
}

function keyValue(key: LimitKey, site: Site, claim: Claim, request: CrawlRequest): string {
  if (key.kind === "header") return request.headers.get(key.name) ?? "";
  return FIELDS[key.field](claim, request, site);
}

type FieldReader = (claim: Claim, request: CrawlRequest, site: Site) => string;

const FIELDS: Readonly<Record<LimitField, FieldReader>> = {
  "bot.id": ({ bot }) => bot.id,
  "bot.name": ({ bot }) => bot.name,
  "bot.class": ({ bot }) => bot.class,
  "bot.claimed": ({ bot }) => String(!bot.isDefault),
  "bot.verified": ({ verification }) => String(verification === "verified"),
  "bot.verification": ({ verification }) => verification,
  "bot.verifiable": ({ bot }) => String(isVerifiable(bot)),
  "bot.operator": ({ bot }) => bot.operator,
  "request.host": (_, request) => request.host,
  "request.method": (_, request) => request.method,
  "request.path": (_, request) => request.target.readings[0],
  "request.raw_path": (_, request) => request.target.rawPath,
  "request.query": (_, request) => request.target.query,
  "request.scheme": (_, request) => request.scheme,
  "request.ip": (_, request) => request.address.limitKey,
  "request.user_agent": (_, request) => request.userAgent,
  "labels.bot_id": ({ bot }) => bot.id,
  "labels.host": (_, request) => request.host,
  "labels.path": (_, request) => request.target.readings[0],
  "site.id": (_, __, site) => site.id,
  "site.host": (_, __, site) => site.hosts[0],
  "site.mode": (_, __, site) => site.mode,
};
