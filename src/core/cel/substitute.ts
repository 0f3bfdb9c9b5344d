import { call, choice, every, list, lookup, some } from "./fold.ts";
import { loop } from "./fold-loop.ts";
import { knownAddress, knownTest } from "./fold-test.ts";
import type { Term } from "./term.ts";

/** What becomes known of a term, and so takes the place of some of its leaves. */
export interface Substitution {
  /** Bits of `needs`: a part that has none of them stays as it is. */
  readonly needs: number;
  /** What stands in for a leaf; undefined leaves it. */
  readonly replace: (leaf: Term) => Term | undefined;
}

/** A term with some of its leaves replaced, folded again; what does not need them is the same term. */
export function substitute(term: Term, substitution: Substitution): Term {
  if ((term.needs & substitution.needs) === 0) return term;
  const inner = (part: Term) => substitute(part, substitution);
  switch (term.kind) {
    case "every":
    case "some":
      return substituteJunction(term, inner);
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
      return substitution.replace(term) ?? term;
  }
}

/** Parts that decide alone end the work: most rules are false for a bot by their first part. */
function substituteJunction(
  term: Extract<Term, { kind: "every" | "some" }>,
  inner: (part: Term) => Term,
): Term {
  const decisive = term.kind === "some";
  const terms: Term[] = [];
  for (const part of term.terms) {
    const known = inner(part);
    if (known.kind === "value" && known.value === decisive) return known;
    terms.push(known);
  }
  return decisive ? some(terms) : every(terms);
}
