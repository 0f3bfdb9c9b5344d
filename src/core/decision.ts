import type { Allowance } from "./limit.ts";
import type { Answer, Choice } from "./policy/answer.ts";
import { type Action, isEnforced, type Price, type Site } from "./policy/policy.ts";

/** What became of a request, as the ledger and the decision log name it (contract 6). */
export type DecisionAction =
  | "allow"
  | "allow_metered"
  | "rate_limit"
  | "rate_limit_exceeded"
  | "block";

/** A bucket that had no token, as the answer tells it. */
export interface RateLimited {
  /** Whole seconds until a client alone on its bucket gets a token; at least 1. */
  readonly retryAfterSeconds: number;
  readonly burst: number;
  readonly rpm: number;
}

export interface ShadowedRule {
  readonly ruleId: string;
  readonly action: DecisionAction;
  /** What this rule would have answered. */
  readonly status: number;
}

/** The answer to one request, and everything that led to it but the evidence. */
export interface Decision {
  readonly action: DecisionAction;
  readonly ruleId: string;
  readonly priority: number | undefined;
  /** The status under enforce: 200 for every allow and for a limit that was not reached. */
  readonly status: number;
  readonly reason: string | undefined;
  /** Whether the site enforces; else it is recorded and served. */
  readonly enforced: boolean;
  /** The reading of the path that decided, where it is not the canonical one. */
  readonly reading: string | undefined;
  readonly shadowed: readonly ShadowedRule[];
  readonly rateLimited: RateLimited | undefined;
  /** Of `allow_metered`, and of a 402 that names one. */
  readonly price: Price | undefined;
  readonly terms: string | undefined;
  readonly receipt: boolean;
  readonly tags: readonly string[];
}

/** Whether the proxy is told to refuse. */
export function isRefused(decision: Decision): boolean {
  return decision.enforced && decision.status >= 400;
}

/** Whether it was served, and enforce would have refused it (429 and 503 included). */
export function wouldBlock(decision: Decision): boolean {
  return !decision.enforced && decision.status >= 400;
}

/** The decision that an answer and its buckets come to. */
export function decideFrom(site: Site, answer: Answer, allowance: Allowance): Decision {
  const refused = answer.limited[allowance.refused];
  const choice: Choice = refused ?? answer;
  const { rule } = choice;
  const outcome = refused === undefined ? outcomeOf(rule.action) : EXCEEDED;
  const { action } = rule;
  return {
    action: outcome.action,
    ruleId: rule.id,
    priority: rule.priority,
    status: outcome.status,
    reason: action.kind === "block" ? action.reason : outcome.reason,
    enforced: isEnforced(site),
    reading: choice.reading,
    shadowed: shadowedOf(answer, allowance),
    rateLimited: rateLimitedOf(action, refused, allowance),
    price: action.kind === "block" || action.kind === "allow_metered" ? action.price : undefined,
    terms: action.kind === "block" ? action.terms : undefined,
    receipt: rule.receipt,
    tags: rule.tags,
  };
}

/** A refusal of ours, before or instead of the rules: `runtime.malformed_request` and its like. */
export function refuseByUs(
  enforced: boolean,
  ruleId: string,
  status: number,
  reason: string,
): Decision {
  return { ...BY_US, action: "block", ruleId, status, reason, enforced };
}

/** What is let through whatever the rules say: `runtime.robots_txt`. */
export function allowByUs(enforced: boolean, ruleId: string): Decision {
  return { ...BY_US, action: "allow", ruleId, status: 200, enforced };
}

const BY_US = {
  priority: undefined,
  reason: undefined,
  reading: undefined,
  shadowed: [],
  rateLimited: undefined,
  price: undefined,
  terms: undefined,
  receipt: false,
  tags: [],
} as const;

interface Outcome {
  readonly action: DecisionAction;
  readonly status: number;
  readonly reason: string | undefined;
}

const ALLOW: Outcome = { action: "allow", status: 200, reason: undefined };
const METERED: Outcome = { action: "allow_metered", status: 200, reason: undefined };
const LIMITED: Outcome = { action: "rate_limit", status: 200, reason: undefined };
const EXCEEDED: Outcome = {
  action: "rate_limit_exceeded",
  status: 429,
  reason: "rate_limit_exceeded",
};

function outcomeOf(action: Action): Outcome {
  switch (action.kind) {
    case "allow":
      return ALLOW;
    case "allow_metered":
      return METERED;
    case "rate_limit":
      return LIMITED;
    case "block":
      return { action: "block", status: action.status, reason: action.reason };
  }
}

const NO_SHADOW: readonly never[] = [];

function shadowedOf(answer: Answer, allowance: Allowance): readonly ShadowedRule[] {
  if (answer.shadowed.length === 0) return NO_SHADOW;
  return answer.shadowed.map((rule) => {
    const index = answer.limited.findIndex((choice) => choice.rule === rule);
    const hasToken = index === -1 || allowance.spent[index] !== false;
    const outcome = hasToken ? outcomeOf(rule.action) : EXCEEDED;
    return { ruleId: rule.id, action: outcome.action, status: outcome.status };
  });
}

function rateLimitedOf(
  action: Action,
  refused: Choice | undefined,
  allowance: Allowance,
): RateLimited | undefined {
  if (refused === undefined || action.kind !== "rate_limit") return undefined;
  const { burst, rpm } = action.limit;
  const retryAfterSeconds = Math.max(1, Math.ceil(allowance.retryAfterMs / 1000));
  return { retryAfterSeconds, burst, rpm };
}
