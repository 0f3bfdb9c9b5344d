import type { Bot, Verification } from "../bot/bot.ts";
import type { Compiler } from "../cel/predicate.ts";
import type { BotInputs } from "../cel/reference.ts";
import { specialise } from "../cel/specialise.ts";
import { FALSE, Failure, type Term, type TextTerm, TRUE } from "../cel/term.ts";
import { createTextIndex, NO_RANK } from "../cel/text-index.ts";
import { testedField } from "../cel/text-term.ts";
import type { CrawlRequest } from "../request.ts";
import type { Rule, RuleFault, Selection } from "./policy.ts";

/** A rule with its condition made ready to be folded. */
export interface LoweredRule {
  readonly rule: Rule;
  readonly condition: Term;
  /** What is selected when this rule decides and nothing is to be noted beside it. */
  readonly plain: Selection;
}

/** A rule that may match for one bot and one outcome, and what is left of its condition. */
export interface ListedRule {
  readonly rule: Rule;
  readonly residual: Term;
}

/** The rules for one bot and one outcome of its verification. */
export interface RuleList {
  readonly rules: readonly ListedRule[];
  readonly steps: readonly Step[];
  /** What is selected when no step decides. */
  readonly last: Selection;
}

/** What a step of a list finds; made beforehand, but for faults. */
type Finding =
  | { readonly kind: "selected"; readonly selection: Selection }
  | { readonly kind: "shadowed"; readonly rule: Rule }
  | { readonly kind: "fault"; readonly fault: RuleFault };

/** One rule, or several about the path alone; undefined when none of them matches. */
type Step = (request: CrawlRequest, path: string) => Finding | undefined;

/** The outcomes that verifying a claim to be this bot can have (contract 1). */
export function reachableVerifications(bot: Bot): readonly Verification[] {
  if (bot.isDefault || bot.verifiers.length === 0) return ["unverifiable"];
  const isOffline = bot.verifiers.every((verifier) => verifier.kind === "static_ranges");
  const outcomes: readonly Verification[] = ["verified", "refuted", "unverifiable"];
  return isOffline ? outcomes : [...outcomes, "unavailable"];
}

/**
 * Folds a bot and an outcome into the rules: those that are now false are gone, and the first
 * enforced one that is now true ends the list.
 */
export function createRuleList(
  rules: readonly LoweredRule[],
  fallback: Selection,
  bot: BotInputs,
  compiler: Compiler,
): RuleList {
  const kept: Kept[] = [];
  let last = fallback;
  for (const lowered of rules) {
    const residual = specialise(lowered.condition, bot);
    if (residual === FALSE) continue;
    kept.push({ lowered, residual });
    if (residual !== TRUE || lowered.rule.mode === "shadow") continue;
    last = lowered.plain;
    break;
  }
  const listed = kept.map(({ lowered, residual }) => ({ rule: lowered.rule, residual }));
  const tested = last === fallback ? kept : kept.slice(0, -1);
  return { rules: listed, steps: createSteps(tested, compiler), last };
}

interface Kept {
  readonly lowered: LoweredRule;
  readonly residual: Term;
}

/** From so many on, rules about the path are found faster than tried. */
const FEWEST_PATHS = 3;

function createSteps(kept: readonly Kept[], compiler: Compiler): readonly Step[] {
  const steps: Step[] = [];
  let paths: Kept[] = [];
  const flush = () => {
    if (paths.length >= FEWEST_PATHS) steps.push(pathStep(paths));
    else steps.push(...paths.map((it) => ruleStep(it, compiler)));
    paths = [];
  };
  for (const it of kept) {
    if (it.lowered.rule.mode === "enforce" && pathTest(it.residual) !== undefined) {
      paths.push(it);
    } else {
      flush();
      steps.push(ruleStep(it, compiler));
    }
  }
  flush();
  return steps;
}

function ruleStep({ lowered, residual }: Kept, compiler: Compiler): Step {
  const { rule, plain } = lowered;
  const run = compiler.compile(residual);
  const matched: Finding =
    rule.mode === "shadow" ? { kind: "shadowed", rule } : { kind: "selected", selection: plain };
  return (request, path) => {
    const outcome = run(request, path);
    if (outcome === false) return undefined;
    return outcome === true ? matched : faultOf(rule, outcome);
  };
}

function faultOf(rule: Rule, outcome: unknown): Finding {
  const message =
    outcome instanceof Failure ? outcome.message : "the condition is not true or false";
  return { kind: "fault", fault: { ruleId: rule.id, message } };
}

/** A residual that compares the path with constants and nothing else, which cannot fail. */
function pathTest(term: Term): TextTerm | undefined {
  return term.kind === "text" && testedField(term) === "path" ? term : undefined;
}

function pathStep(paths: readonly Kept[]): Step {
  const exact = new Map<string, number>();
  const prefixes = new Map<string, number>();
  for (const [rank, { residual }] of paths.entries()) {
    const test = pathTest(residual);
    for (const text of test?.exact ?? []) addRank(exact, text, rank);
    for (const prefix of test?.prefixes ?? []) addRank(prefixes, prefix, rank);
  }
  const find = createTextIndex(exact, prefixes);
  const findings = paths.map(
    ({ lowered }): Finding => ({ kind: "selected", selection: lowered.plain }),
  );
  return (_request, path) => {
    const rank = find(path);
    return rank === NO_RANK ? undefined : findings[rank];
  };
}

/** The first rule that names a text keeps it. */
function addRank(ranks: Map<string, number>, text: string, rank: number): void {
  if (!ranks.has(text)) ranks.set(text, rank);
}

/** Runs a list. Makes nothing unless a shadow rule or a fault is to be noted. */
export function runRuleList(list: RuleList, request: CrawlRequest, path: string): Selection {
  let notes: Finding[] | undefined;
  for (const step of list.steps) {
    const finding = step(request, path);
    if (finding === undefined) continue;
    if (finding.kind === "selected") return withNotes(finding.selection, notes);
    notes ??= [];
    notes.push(finding);
  }
  return withNotes(list.last, notes);
}

function withNotes(selection: Selection, notes: readonly Finding[] | undefined): Selection {
  if (notes === undefined) return selection;
  return {
    rule: selection.rule,
    shadowed: notes.flatMap((note) => (note.kind === "shadowed" ? [note.rule] : [])),
    faults: notes.flatMap((note) => (note.kind === "fault" ? [note.fault] : [])),
  };
}
