import { createCompiler } from "../cel/predicate.ts";
import { substitute } from "../cel/substitute.ts";
import { NEEDS_REQUEST, type Term, valueTerm } from "../cel/term.ts";
import type { Rule } from "../policy/policy.ts";
import type { ListedRule } from "../policy/rule-list.ts";
import type { CrawlRequest } from "../request.ts";
import { type Condition, conditionOf } from "./condition.ts";
import { HOLDS, type Outcomes, outcomesOf, toFormula } from "./formula.ts";

/** A rule that can decide for some crawlers, and its condition as robots.txt can see it. */
export interface Course {
  readonly rule: Rule;
  readonly condition: Condition;
  /** What the condition may come to: by running it, unless parts of it cannot be seen. */
  outcomesAt(path: string): Outcomes;
}

/** Makes courses for one host or for any; `requestFor` makes a crawler's request for a path. */
export function createCourses(
  host: string | undefined,
  requestFor: (path: string) => CrawlRequest,
): (listed: ListedRule) => Course {
  const compiler = createCompiler();
  return ({ rule, residual }) => {
    const condition = conditionOf(toFormula(pinRequest(residual, host)));
    const run = compiler.compile(residual);
    const isSeen = condition.causes.length === 0;
    const outcomesAt = (path: string): Outcomes => {
      if (!isSeen) return outcomesOf(condition.formula, path);
      return run(requestFor(path), path) === true ? HOLDS : NOTHING;
    };
    return { rule, condition, outcomesAt };
  };
}

const NOTHING: Outcomes = 0;

/** Crawlers fetch pages with GET; the host is known where one file is made for it. */
function pinRequest(term: Term, host: string | undefined): Term {
  const replace = (leaf: Term): Term | undefined => {
    if (leaf.kind !== "input") return undefined;
    if (leaf.field === "method") return valueTerm("GET");
    return leaf.field === "host" && host !== undefined ? valueTerm(host) : undefined;
  };
  return substitute(term, { needs: NEEDS_REQUEST, replace });
}
