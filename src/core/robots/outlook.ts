import type { Bot, Verification } from "../bot/bot.ts";
import { isVerifiable } from "../bot/bot.ts";
import { type Term, valueTerm } from "../cel/term.ts";
import { createEvaluator, type RuleEvaluator } from "../policy/evaluate.ts";
import type { Policy, Rule } from "../policy/policy.ts";
import type { ListedRule } from "../policy/rule-list.ts";
import type { CrawlRequest } from "../request.ts";
import { everyFormula, type Formula, HOLDS, outcomesOf, toFormula } from "./formula.ts";
import { rebuild } from "./rebuild.ts";

/** A rule that can decide for a crawler, and its condition as robots.txt can see it. */
export interface Course {
  readonly rule: Rule;
  readonly condition: Formula;
}

/** What enforcement holds for one crawler, as far as its path alone tells. */
export interface Outlook {
  readonly bot: Bot;
  /** In order of evaluation; shadow rules are left out, and the default action is the last. */
  readonly courses: readonly Course[];
  /** The same for crawlers that the rules treat alike. */
  readonly signature: string;
  /**
   * The rules that may decide a path: one, unless some depend on what cannot be seen; the last
   * decides where none of those does.
   */
  deciders(path: string): readonly Rule[];
  /** Whether a path is refused whatever cannot be seen; any reading that is refused counts. */
  isBlocked(path: string): boolean;
}

/** Makes the outlooks of one policy, for one host or for any. */
export function createOutlooks(policy: Policy, host: string | undefined): (bot: Bot) => Outlook {
  const evaluator = createEvaluator(policy);
  const seen = createTermNumbers();
  const conditions = new Map<Term, Formula>();
  const conditionOf = (residual: Term): Formula => {
    const known = conditions.get(residual);
    if (known !== undefined) return known;
    const formula = toFormula(pinRequest(residual, host));
    conditions.set(residual, formula);
    return formula;
  };
  return (bot) => {
    const listed = evaluator
      .listFor(bot, assumedVerification(bot))
      .rules.filter(({ rule }) => rule.mode === "enforce");
    const courses = listed.map(({ rule, residual }) => ({
      rule,
      condition: conditionOf(residual),
    }));
    const signature = listed.map((entry) => `${entry.rule.id} ${seen(entry.residual)}`).join("\n");
    return outlookOf({ policy, evaluator, bot, host, listed, courses, signature });
  };
}

/**
 * A crawler that reads robots.txt is taken for genuine where that can be proved, and for a mere
 * claim where it cannot: so enforcement will treat it.
 */
export function assumedVerification(bot: Bot): Verification {
  return !bot.isDefault && isVerifiable(bot) ? "verified" : "unverifiable";
}

/** Crawlers fetch pages with GET; the host is known where one file is made for it. */
function pinRequest(term: Term, host: string | undefined): Term {
  return rebuild(term, (leaf) => {
    if (leaf.kind !== "input") return undefined;
    if (leaf.field === "method") return valueTerm("GET");
    return leaf.field === "host" && host !== undefined ? valueTerm(host) : undefined;
  });
}

/** Numbers terms by identity: folding shares what is the same for several bots. */
function createTermNumbers(): (term: Term) => number {
  const numbers = new Map<Term, number>();
  return (term) => {
    const number = numbers.get(term) ?? numbers.size;
    numbers.set(term, number);
    return number;
  };
}

interface Parts {
  readonly policy: Policy;
  readonly evaluator: RuleEvaluator;
  readonly bot: Bot;
  readonly host: string | undefined;
  readonly listed: readonly ListedRule[];
  readonly courses: readonly Course[];
  readonly signature: string;
}

function outlookOf(parts: Parts): Outlook {
  const { policy, evaluator, bot, host, courses, signature } = parts;
  const verification = assumedVerification(bot);
  const isCertain = courses.every(({ condition }) => isDefinite(condition));
  const byEvaluator = (path: string): Rule =>
    evaluator.select(bot, verification, probeOf(bot, host, path), path).rule;
  const deciders = (path: string): readonly Rule[] => {
    if (isCertain) return [byEvaluator(path)];
    const rules = possibleRules(courses, policy.defaultRule, path);
    const [only, another] = rules;
    if (another === undefined && only !== undefined && only !== byEvaluator(path)) {
      throw new Error(`robots.txt sees rule ${only.id} at ${path}, and enforcement another`);
    }
    return rules;
  };
  const readings = (path: string): readonly string[] =>
    policy.site.caseInsensitivePaths ? [path, path.toLowerCase()] : [path];
  return {
    bot,
    courses,
    signature,
    deciders,
    isBlocked: (path) => readings(path).some((reading) => deciders(reading).every(isBlock)),
  };
}

function isDefinite(formula: Formula): boolean {
  for (const part of everyFormula(formula)) if (part.kind === "unknown") return false;
  return true;
}

function isBlock(rule: Rule): boolean {
  return rule.action.kind === "block";
}

/** Every rule that could be the first to match, by what cannot be seen. */
function possibleRules(courses: readonly Course[], fallback: Rule, path: string): readonly Rule[] {
  const rules: Rule[] = [];
  for (const { rule, condition } of courses) {
    const outcomes = outcomesOf(condition, path);
    if ((outcomes & HOLDS) === 0) continue;
    rules.push(rule);
    if (outcomes === HOLDS) return rules;
  }
  rules.push(fallback);
  return rules;
}

/** A crawler's request for a page: what the rules cannot see in robots.txt is empty. */
function probeOf(bot: Bot, host: string | undefined, path: string): CrawlRequest {
  const name = host ?? "";
  return {
    method: "GET",
    scheme: "https",
    host: name,
    authority: name,
    target: { rawPath: path, query: "", readings: [path] },
    address: { ip: "", limitKey: "", isPublic: false },
    userAgent: bot.robotsToken,
    headers: NO_FIELDS,
  };
}

const NO_FIELDS = { get: () => undefined, all: () => new Map<string, string>() };
