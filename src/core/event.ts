import type { Bot, Verification } from "./bot/bot.ts";
import type { Evidence } from "./bot/proof.ts";
import { type Decision, type DecisionAction, type ShadowedRule, wouldBlock } from "./decision.ts";
import type { Policy, RuleFault } from "./policy/policy.ts";

/** What a decision rests on: what a verifier saw, or the version of robots.txt that was read. */
export type EventEvidence = Evidence | { readonly robots_sha256: string };

export interface EventShadowedRule {
  readonly rule_id: string;
  readonly action: DecisionAction;
  readonly status: number;
}

export interface EventFault {
  readonly rule_id: string;
  readonly message: string;
}

/**
 * One line of the decision log and of the ledger (contract 6). The names are the columns; null is
 * "absent" (the one place where null is right, since it is what JSON and SQL have).
 */
export interface DecisionEvent {
  readonly id: string;
  /** RFC 3339, UTC, milliseconds. */
  readonly ts: string;
  readonly request_id: string | null;
  readonly site_id: string | null;
  readonly host: string;
  readonly method: string;
  readonly path: string;
  readonly raw_path: string | null;
  readonly query: string | null;
  readonly reading: string | null;
  readonly ip: string | null;
  readonly user_agent: string | null;
  readonly bot_id: string;
  readonly bot_class: string;
  readonly bot_operator: string | null;
  readonly claimed: boolean;
  readonly verified: boolean;
  readonly verification: Verification | "not_needed";
  readonly evidence: EventEvidence | null;
  readonly action: DecisionAction;
  readonly rule_id: string;
  readonly reason: string | null;
  /** What the proxy was told. */
  readonly status: number;
  readonly mode: "shadow" | "observe" | "enforce" | null;
  readonly enforced: boolean;
  readonly would_block: boolean;
  readonly shadowed: readonly EventShadowedRule[];
  readonly faults: readonly EventFault[];
  readonly tags: readonly string[];
  readonly price_amount: string | null;
  readonly price_currency: string | null;
  readonly price_unit: string | null;
  readonly receipt_id: string | null;
  readonly receipt: string | null;
  readonly policy_hash: string | null;
  readonly duration_us: number;
}

/** Longest texts that are kept, in bytes of UTF-8. */
const MAX_PATH = 2048;
const MAX_USER_AGENT = 512;

/** Everything that an event is made of. */
export interface EventParts {
  readonly id: string;
  readonly nowMs: number;
  readonly durationUs: number;
  readonly requestId: string | undefined;
  readonly policy: Policy | undefined;
  readonly subject: EventSubject;
  readonly bot: Bot;
  readonly verification: Verification | "not_needed";
  readonly evidence: EventEvidence | undefined;
  readonly decision: Decision;
  readonly faults: readonly RuleFault[];
}

/** What of a request an event tells, also of one that was too malformed to be judged. */
export interface EventSubject {
  readonly host: string;
  readonly method: string;
  /** Canonical, where there is one. */
  readonly path: string;
  readonly rawPath: string;
  readonly query: string;
  /** Empty when it cannot be told. */
  readonly ip: string;
  readonly userAgent: string;
}

/** Makes the record of a decision: cleaned and cut, so that it can be written anywhere. */
export function createEvent(parts: EventParts): DecisionEvent {
  const { subject, bot, decision, policy } = parts;
  return {
    id: parts.id,
    ts: timestampOf(parts.nowMs),
    request_id: orNull(parts.requestId),
    site_id: orNull(policy?.site.id),
    host: cleanText(subject.host, 253),
    method: cleanText(subject.method, 32),
    path: cleanText(subject.path, MAX_PATH),
    raw_path: subject.rawPath === subject.path ? null : cleanOrNull(subject.rawPath),
    query: cleanOrNull(subject.query),
    reading: cleanOrNull(decision.reading),
    ip: textOrNull(subject.ip),
    user_agent: textOrNull(cleanText(subject.userAgent, MAX_USER_AGENT)),
    bot_id: bot.id,
    bot_class: bot.class,
    bot_operator: textOrNull(bot.operator),
    claimed: !bot.isDefault,
    verified: parts.verification === "verified",
    verification: parts.verification,
    evidence: orNull(parts.evidence),
    action: decision.action,
    rule_id: decision.ruleId,
    reason: orNull(decision.reason),
    status: decision.enforced ? decision.status : 200,
    mode: orNull(policy?.site.mode),
    enforced: decision.enforced,
    would_block: wouldBlock(decision),
    shadowed: decision.shadowed.map(namedShadow),
    faults: parts.faults.map(namedFault),
    tags: decision.tags,
    price_amount: orNull(decision.price?.amount),
    price_currency: orNull(decision.price?.currency),
    price_unit: orNull(decision.price?.unit),
    receipt_id: null,
    receipt: null,
    policy_hash: orNull(policy?.hash),
    duration_us: parts.durationUs,
  };
}

let lastMs = Number.NaN;
let lastTimestamp = "";

/** Many events fall into one millisecond: its text is made once. */
function timestampOf(ms: number): string {
  if (ms !== lastMs) {
    lastMs = ms;
    lastTimestamp = new Date(ms).toISOString();
  }
  return lastTimestamp;
}

function orNull<T>(value: T | undefined): T | null {
  return value === undefined ? null : value;
}

function textOrNull(text: string): string | null {
  return text === "" ? null : text;
}

function cleanOrNull(text: string | undefined): string | null {
  return text === undefined || text === "" ? null : cleanText(text, MAX_PATH);
}

function namedShadow(rule: ShadowedRule): EventShadowedRule {
  return { rule_id: rule.ruleId, action: rule.action, status: rule.status };
}

function namedFault(fault: RuleFault): EventFault {
  return { rule_id: fault.ruleId, message: cleanText(fault.message, 512) };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CONTROLS = /[\u0000-\u001f\u007f-\u009f]/g;

/**
 * Text without control characters and lone surrogates (U+FFFD in their place), cut to at most `max`
 * bytes of UTF-8, never within a character. Cleaning twice changes nothing.
 */
export function cleanText(text: string, max: number): string {
  // A code unit is one to three bytes of UTF-8: huge values are cut before they are looked at.
  const cut = text.length > max ? text.slice(0, max) : text;
  if (isPrintableAscii(cut)) return cut;
  const fit = cut.toWellFormed().replace(CONTROLS, "\ufffd");
  return fit.length * 3 <= max ? fit : cutBytes(fit, max);
}

function isPrintableAscii(text: string): boolean {
  // Texts are of many inner kinds, and to ask each time for the length would cost more than the rest.
  const { length } = text;
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code > 0x7e) return false;
  }
  return true;
}

function cutBytes(text: string, max: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(max));
  return read === text.length ? text : text.slice(0, read);
}
