import type { Bot, Verification } from "../bot/bot.ts";
import type { Compiler, Run } from "../cel/predicate.ts";
import type { BotInputs } from "../cel/reference.ts";
import { createResiduals } from "../cel/residuals.ts";
import { FALSE, Failure, type Term, type TextTerm, TRUE } from "../cel/term.ts";
import { createTextIndex, NO_RANK } from "../cel/text-index.ts";
import { testedField } from "../cel/text-term.ts";
import type { CrawlRequest } from "../request.ts";
import type { Steps } from "../steps.ts";
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

/** Makes the list for a bot with the outcome of its verification folded in. */
export type ListMaker = (bot: BotInputs) => Steps<RuleList>;

/** A step for each rule would cost as much as the rule. */
const RULES_A_STEP = 50;

/** A rule with one residual, wherever that is in a list. */
interface Entry {
  readonly number: number;
  readonly lowered: LoweredRule;
  readonly listed: ListedRule;
  readonly step: Step;
}

/**
 * Makes lists: rules that are false for a bot and an outcome are gone, and the first enforced one
 * that is true ends the list. Bots that the rules treat alike have one list.
 */
export function createListMaker(
  rules: readonly LoweredRule[],
  fallback: Selection,
  compiler: Compiler,
): ListMaker {
  const residualOf = createResiduals();
  const entryOf = createEntries(compiler);
  const lists = new Map<string, RuleList>();
  const groups = new Map<string, Step>();
  const entryFor = (lowered: LoweredRule, bot: BotInputs): Entry | undefined => {
    const residual = residualOf(lowered.condition, bot);
    return residual === FALSE ? undefined : entryOf(lowered, residual);
  };
  return function* (bot) {
    const entries = yield* keepEntries(rules, (lowered) => entryFor(lowered, bot));
    const signature = signatureOf(entries);
    const known = lists.get(signature);
    if (known !== undefined) return known;
    const list = assembleList(entries, fallback, groups);
    lists.set(signature, list);
    return list;
  };
}

function* keepEntries(
  rules: readonly LoweredRule[],
  entryFor: (lowered: LoweredRule) => Entry | undefined,
): Steps<readonly Entry[]> {
  const entries: Entry[] = [];
  for (const [index, lowered] of rules.entries()) {
    if (index % RULES_A_STEP === 0) yield;
    const entry = entryFor(lowered);
    if (entry === undefined) continue;
    entries.push(entry);
    if (endsList(entry.listed)) break;
  }
  return entries;
}

function endsList({ rule, residual }: ListedRule): boolean {
  return residual === TRUE && rule.mode === "enforce";
}

function createEntries(compiler: Compiler): (lowered: LoweredRule, residual: Term) => Entry {
  const known = new Map<LoweredRule, Map<Term, Entry>>();
  let count = 0;
  return (lowered, residual) => {
    const ofRule = known.get(lowered) ?? new Map<Term, Entry>();
    known.set(lowered, ofRule);
    const entry = ofRule.get(residual);
    if (entry !== undefined) return entry;
    const listed = { rule: lowered.rule, residual };
    const step = ruleStep(lowered, compiler.compile(residual));
    const made: Entry = { number: count++, lowered, listed, step };
    ofRule.set(residual, made);
    return made;
  };
}

function signatureOf(entries: readonly Entry[]): string {
  return entries.map((entry) => entry.number).join(" ");
}

function assembleList(
  entries: readonly Entry[],
  fallback: Selection,
  groups: Map<string, Step>,
): RuleList {
  const final = entries.at(-1);
  const isEnded = final !== undefined && endsList(final.listed);
  const tested = isEnded ? entries.slice(0, -1) : entries;
  return {
    rules: entries.map((entry) => entry.listed),
    steps: createSteps(tested, groups),
    last: isEnded ? final.lowered.plain : fallback,
  };
}

/** From so many on, rules about the path are found faster than tried. */
const FEWEST_PATHS = 3;

function createSteps(entries: readonly Entry[], groups: Map<string, Step>): readonly Step[] {
  const steps: Step[] = [];
  let paths: Entry[] = [];
  const flush = () => {
    if (paths.length >= FEWEST_PATHS) steps.push(groupOf(paths, groups));
    else steps.push(...paths.map((entry) => entry.step));
    paths = [];
  };
  for (const entry of entries) {
    if (entry.lowered.rule.mode === "enforce" && pathTest(entry.listed.residual) !== undefined) {
      paths.push(entry);
    } else {
      flush();
      steps.push(entry.step);
    }
  }
  flush();
  return steps;
}

function groupOf(paths: readonly Entry[], groups: Map<string, Step>): Step {
  const signature = signatureOf(paths);
  const step = groups.get(signature) ?? pathStep(paths);
  groups.set(signature, step);
  return step;
}

function ruleStep({ rule, plain }: LoweredRule, run: Run): Step {
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

function pathStep(paths: readonly Entry[]): Step {
  const exact = new Map<string, number>();
  const prefixes = new Map<string, number>();
  for (const [rank, { listed }] of paths.entries()) {
    const test = pathTest(listed.residual);
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
