import type { Bot, Verification } from "../bot/bot.ts";
import { type CelEnvironment, createEnvironment } from "../cel/environment.ts";
import {
  type Bindings,
  createBinder,
  planCondition,
  type ReferencePlan,
} from "../cel/reference.ts";
import type { CrawlRequest } from "../request.ts";
import type { Evaluator, Rule, RuleFault, Selection, Sets, Site } from "./policy.ts";

/** What an evaluator is made of; `rules` are in order of evaluation. */
export interface EvaluatorOptions {
  readonly rules: readonly Rule[];
  readonly defaultRule: Rule;
  readonly bots: readonly Bot[];
  readonly site: Site;
  readonly sets: Sets;
}

interface PlannedRule {
  readonly rule: Rule;
  readonly run: ReferencePlan;
  /** What is selected when this rule matches and nothing is to be noted beside it. */
  readonly plain: Selection;
}

/** Makes the function that runs a policy's rules; a rule without a condition always matches. */
export function createEvaluator(options: EvaluatorOptions): Evaluator {
  const environment = createEnvironment({ sets: options.sets });
  const bind = createBinder(options.site, environment);
  const planned = options.rules.map((rule) => planRule(rule, environment));
  const fallback = plainSelection(options.defaultRule);
  return {
    select(bot: Bot, verification: Verification, request: CrawlRequest, path: string): Selection {
      return runRules(planned, fallback, bind(bot, verification, request, path));
    },
  };
}

function planRule(rule: Rule, environment: CelEnvironment): PlannedRule {
  const run =
    rule.when === undefined
      ? () => ({ kind: "answer", value: true }) as const
      : planCondition(rule.when, environment);
  return { rule, run, plain: plainSelection(rule) };
}

function plainSelection(rule: Rule): Selection {
  return { rule, shadowed: [], faults: [] };
}

function runRules(
  planned: readonly PlannedRule[],
  fallback: Selection,
  bindings: Bindings,
): Selection {
  const shadowed: Rule[] = [];
  const faults: RuleFault[] = [];
  let selected = fallback;
  for (const { rule, run, plain } of planned) {
    const outcome = run(bindings);
    if (outcome.kind === "error") {
      faults.push({ ruleId: rule.id, message: outcome.message });
    } else if (outcome.value && rule.mode === "shadow") {
      shadowed.push(rule);
    } else if (outcome.value) {
      selected = plain;
      break;
    }
  }
  if (shadowed.length === 0 && faults.length === 0) return selected;
  return { rule: selected.rule, shadowed, faults };
}
