import type { Bot, Verification } from "../bot/bot.ts";
import type { Charge } from "../limit.ts";
import type { CrawlRequest } from "../request.ts";
import { chargeFor } from "./charge.ts";
import type { Policy, Rule, RuleFault, Selection } from "./policy.ts";

/**
 * What a policy says of a request under one verification outcome: every reading considered (contract
 * 4, Paths), buckets not yet asked.
 */
export interface Answer {
  /** The rule that decides, provided that every charge finds a token. */
  readonly rule: Rule;
  /** The reading that chose it; undefined for the canonical one. */
  readonly reading: string | undefined;
  /** Rules whose bucket must have a token, as an index into `charges` each; then shadow rules. */
  readonly charges: readonly Charge[];
  /** The choice behind each charge, by the same index. */
  readonly limited: readonly Choice[];
  readonly shadowed: readonly Rule[];
  readonly faults: readonly RuleFault[];
}

/** A rule, and the reading that chose it; undefined for the canonical one. */
export interface Choice {
  readonly rule: Rule;
  readonly reading: string | undefined;
}

/** Under which outcome a bot's claim is judged. */
export interface Claim {
  readonly bot: Bot;
  readonly verification: Verification;
}

const NONE: readonly never[] = [];

/**
 * The answer under an outcome, `fail_mode` considered: where a check could not complete and its result
 * matters, `fail_mode: block` comes before the rules, else the rules run and may read `unavailable`.
 */
export function answerUnder(policy: Policy, claim: Claim, request: CrawlRequest): Answer {
  if (claim.verification !== "unavailable" || policy.failMode === "allow") {
    return answerFor(policy, claim, request);
  }
  const ifVerified = answerFor(policy, { bot: claim.bot, verification: "verified" }, request);
  const ifRefuted = answerFor(policy, { bot: claim.bot, verification: "refuted" }, request);
  return isSameVerdict(ifVerified, ifRefuted) ? answerFor(policy, claim, request) : VERIFIER_ERROR;
}

const VERIFIER_ERROR: Answer = {
  rule: {
    id: "runtime.verifier_error",
    priority: undefined,
    when: undefined,
    action: {
      kind: "block",
      status: 503,
      reason: "verification_unavailable",
      price: undefined,
      terms: undefined,
    },
    mode: "enforce",
    receipt: false,
    tags: [],
  },
  reading: undefined,
  charges: NONE,
  limited: NONE,
  shadowed: NONE,
  faults: NONE,
};

/** Asks the policy about every reading of the path and combines what it says. */
function answerFor(policy: Policy, claim: Claim, request: CrawlRequest): Answer {
  const readings = request.target.readings;
  const first = select(policy, claim, request, readings[0]);
  if (readings.length === 1) return answerOne(policy, claim, request, first);
  const choices: Choice[] = [{ rule: first.rule, reading: undefined }];
  const shadowed = new Set(first.shadowed);
  const faults = new Map(first.faults.map((fault) => [fault.ruleId, fault]));
  for (const reading of readings.slice(1)) {
    const selection = select(policy, claim, request, reading);
    choices.push({ rule: selection.rule, reading });
    for (const rule of selection.shadowed) shadowed.add(rule);
    for (const fault of selection.faults) {
      if (!faults.has(fault.ruleId)) faults.set(fault.ruleId, fault);
    }
  }
  const decided = combine(choices);
  return {
    ...decided.winner,
    ...chargesFor(policy, claim, request, decided.limited, [...shadowed]),
    shadowed: [...shadowed],
    faults: [...faults.values()],
  };
}

function select(policy: Policy, claim: Claim, request: CrawlRequest, path: string): Selection {
  return policy.evaluator.select(claim.bot, claim.verification, request, path);
}

/** The common case: a plain path has one reading, and nothing needs combining. */
function answerOne(
  policy: Policy,
  claim: Claim,
  request: CrawlRequest,
  selection: Selection,
): Answer {
  const { rule, shadowed, faults } = selection;
  if (rule.action.kind !== "rate_limit" && shadowed.length === 0) {
    return { rule, reading: undefined, charges: NONE, limited: NONE, shadowed, faults };
  }
  const limited = rule.action.kind === "rate_limit" ? [{ rule, reading: undefined }] : NONE;
  const charges = chargesFor(policy, claim, request, limited, shadowed);
  return { rule, reading: undefined, ...charges, shadowed, faults };
}

interface Combined {
  readonly winner: Choice;
  readonly limited: readonly Choice[];
}

/** Any block stands; then every distinct limit counts; then metered, limited, allowed, in this order. */
function combine(choices: readonly Choice[]): Combined {
  const ordered = inOrderOfTies(choices);
  const block = ordered.find((choice) => choice.rule.action.kind === "block");
  if (block !== undefined) return { winner: block, limited: NONE };
  const limited = distinct(ordered.filter((choice) => choice.rule.action.kind === "rate_limit"));
  const metered = ordered.find((choice) => choice.rule.action.kind === "allow_metered");
  const winner = metered ?? limited[0] ?? ordered[0];
  if (winner === undefined) throw new Error("a target has at least one reading");
  return { winner, limited };
}

/** The canonical reading first, then lower priorities; the default action comes last. */
function inOrderOfTies(choices: readonly Choice[]): readonly Choice[] {
  const rank = (choice: Choice): number => choice.rule.priority ?? Number.POSITIVE_INFINITY;
  const [canonical, ...others] = choices;
  const sorted = others.toSorted((a, b) => (rank(a) === rank(b) ? 0 : rank(a) - rank(b)));
  return canonical === undefined ? sorted : [canonical, ...sorted];
}

function distinct(choices: readonly Choice[]): readonly Choice[] {
  const seen = new Set<Rule>();
  return choices.filter((choice) => !seen.has(choice.rule) && seen.add(choice.rule));
}

function chargesFor(
  policy: Policy,
  claim: Claim,
  request: CrawlRequest,
  limited: readonly Choice[],
  shadowed: readonly Rule[],
): Pick<Answer, "charges" | "limited"> {
  const shadowLimits = shadowed
    .filter((rule) => rule.action.kind === "rate_limit")
    .map((rule) => ({ rule, reading: undefined }));
  const choices = [...limited, ...shadowLimits];
  const charges = choices.map((choice) => chargeFor(policy.site, claim, request, choice.rule));
  return { charges, limited: choices };
}

/**
 * Whether two answers are one in what `fail_mode` looks at: action, rule, status, reason and limits
 * (contract 1). All but the limits follow from the rule.
 */
function isSameVerdict(a: Answer, b: Answer): boolean {
  return a.rule === b.rule && a.reading === b.reading && sameBuckets(a, b, false);
}

/**
 * Whether a check could not change anything: the same verdict, the same shadowed rules and their
 * buckets, and no receipt, whose claims name the outcome.
 */
export function isSameAnswer(policy: Policy, a: Answer, b: Answer): boolean {
  return (
    isSameVerdict(a, b) &&
    !(policy.receipts.enabled && mayBeSealed(a)) &&
    a.shadowed.length === b.shadowed.length &&
    a.shadowed.every((rule, index) => rule === b.shadowed[index]) &&
    sameBuckets(a, b, true)
  );
}

/** Whether the rule that decides asks for a receipt: the one chosen, or a limit that has no token. */
function mayBeSealed(answer: Answer): boolean {
  return (
    answer.rule.receipt ||
    answer.limited.some(({ rule }) => rule.receipt && rule.mode === "enforce")
  );
}

function sameBuckets(a: Answer, b: Answer, shadow: boolean): boolean {
  const bucketsOf = (answer: Answer): readonly string[] =>
    answer.charges.filter((charge) => charge.shadow === shadow).map((charge) => charge.bucket);
  if (a.charges.length === 0 && b.charges.length === 0) return true;
  const [left, right] = [bucketsOf(a), bucketsOf(b)];
  return left.length === right.length && left.every((bucket, index) => bucket === right[index]);
}
