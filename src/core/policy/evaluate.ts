import type { Bot, Verification } from "../bot/bot.ts";
import { createEnvironment } from "../cel/environment.ts";
import { foreignReason } from "../cel/foreign.ts";
import { lower, type PolicyKnowledge } from "../cel/lower.ts";
import { createCompiler } from "../cel/predicate.ts";
import { botInputs, createBinder, siteInputs } from "../cel/reference.ts";
import { TRUE } from "../cel/term.ts";
import type { CrawlRequest } from "../request.ts";
import { finish, type Steps } from "../steps.ts";
import type { Evaluator, Rule, Selection, Sets, Site } from "./policy.ts";
import {
  createListMaker,
  type LoweredRule,
  type RuleList,
  reachableVerifications,
  runRuleList,
} from "./rule-list.ts";

/** What an evaluator is made of; `rules` are in order of evaluation. */
export interface EvaluatorOptions {
  readonly rules: readonly Rule[];
  readonly defaultRule: Rule;
  readonly bots: readonly Bot[];
  readonly site: Site;
  readonly sets: Sets;
}

/** An evaluator that can show what it made of the rules. */
export interface RuleEvaluator extends Evaluator {
  /** The rules for one bot and one outcome; made on first use. */
  listFor(bot: Bot, verification: Verification): RuleList;
  /** Makes the lists of all bots and reachable outcomes, and tells what they hold. */
  prepare(): EvaluationReport;
}

/** How far the rules could be folded. */
export interface EvaluationReport {
  /** Lists: one for each bot and each outcome that its verification can have. */
  readonly lists: number;
  /** Rules in the shortest and in the longest list. */
  readonly shortest: number;
  readonly longest: number;
  /** Rules of which a part is left to the reference evaluator, which is some 100 times slower. */
  readonly reference: readonly { readonly ruleId: string; readonly reason: string }[];
}

type BotLists = { [V in Verification]?: RuleList };

/** Makes the function that runs a policy's rules; a rule without a condition always matches. */
export function createEvaluator(options: EvaluatorOptions): RuleEvaluator {
  return finish(evaluatorSteps(options));
}

/** As `createEvaluator`, in steps. */
export function* evaluatorSteps(options: EvaluatorOptions): Steps<RuleEvaluator> {
  const rules = yield* lowerSteps(options);
  const fallback = plainSelection(options.defaultRule);
  const makeListFor = createListMaker(rules, fallback, createCompiler());
  const lists = new Map<Bot, BotLists>();
  const makeList = function* (bot: Bot, verification: Verification): Steps<RuleList> {
    const list = yield* makeListFor(botInputs(bot, verification));
    const ofBot = lists.get(bot) ?? {};
    ofBot[verification] = list;
    lists.set(bot, ofBot);
    return list;
  };
  const listFor = (bot: Bot, verification: Verification): RuleList =>
    lists.get(bot)?.[verification] ?? finish(makeList(bot, verification));
  return {
    readsByIp: options.rules.some(({ when }) => when?.reads.has("bot.by_ip") === true),
    select: (bot: Bot, verification: Verification, request: CrawlRequest, path: string) =>
      runRuleList(listFor(bot, verification), request, path),
    warm: function* (bot: Bot, verification: Verification) {
      if (lists.get(bot)?.[verification] === undefined) yield* makeList(bot, verification);
    },
    listFor,
    prepare: () => describe(options.bots, listFor, rules),
  };
}

/** The rules with their conditions made ready to be folded. */
export function lowerRules(options: LowerOptions): readonly LoweredRule[] {
  return finish(lowerSteps(options));
}

type LowerOptions = Pick<EvaluatorOptions, "rules" | "site" | "sets">;

function* lowerSteps(options: LowerOptions): Steps<readonly LoweredRule[]> {
  const environment = createEnvironment({ sets: options.sets });
  const bind = createBinder(options.site, environment);
  const knowledge: PolicyKnowledge = { environment, site: siteInputs(options.site), bind };
  const lowered: LoweredRule[] = [];
  for (const rule of options.rules) {
    const condition = rule.when === undefined ? TRUE : lower(rule.when.ast, knowledge);
    lowered.push({ rule, condition, plain: plainSelection(rule) });
    yield;
  }
  return lowered;
}

function plainSelection(rule: Rule): Selection {
  return { rule, shadowed: [], faults: [] };
}

function describe(
  bots: readonly Bot[],
  listFor: (bot: Bot, verification: Verification) => RuleList,
  rules: readonly LoweredRule[],
): EvaluationReport {
  const lengths = bots.flatMap((bot) =>
    reachableVerifications(bot).map((outcome) => listFor(bot, outcome).rules.length),
  );
  const reference = rules.flatMap(({ rule, condition }) => {
    const reason = foreignReason(condition);
    return reason === undefined ? [] : [{ ruleId: rule.id, reason }];
  });
  return {
    lists: lengths.length,
    shortest: Math.min(...lengths),
    longest: Math.max(...lengths),
    reference,
  };
}
