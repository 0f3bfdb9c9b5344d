import { call, choice, every, list, lookup, some } from "../cel/fold.ts";
import { loop } from "../cel/fold-loop.ts";
import { knownAddress, knownTest } from "../cel/fold-test.ts";
import type { Term } from "../cel/term.ts";

/** What stands in for an input or a variable; undefined leaves it as it is. */
export type Replacement = (leaf: Term) => Term | undefined;

/** A term with some of its leaves replaced, and folded again. */
export function rebuild(term: Term, replace: Replacement): Term {
  const inner = (part: Term) => rebuild(part, replace);
  switch (term.kind) {
    case "every":
      return every(term.terms.map(inner));
    case "some":
      return some(term.terms.map(inner));
    case "choice":
      return choice(inner(term.condition), inner(term.yes), inner(term.no));
    case "call":
      return call(term.name, term.isMethod, term.args.map(inner));
    case "lookup":
    case "has":
      return lookup(term.kind, inner(term.operand), inner(term.key));
    case "list":
      return list(term.elements.map(inner));
    case "loop":
      return loop({
        ...term,
        range: inner(term.range),
        test: term.test === undefined ? undefined : inner(term.test),
        step: term.step === undefined ? undefined : inner(term.step),
      });
    case "text":
      return knownTest(inner(term.text), term.exact, term.prefixes);
    case "address":
      return knownAddress(inner(term.text), term.blocks);
    case "value":
    case "failure":
    case "bot":
    case "input":
    case "headers":
    case "variable":
    case "foreign":
      return replace(term) ?? term;
  }
}
