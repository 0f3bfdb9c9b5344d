import { call, choice, every, list, lookup, some } from "./fold.ts";
import { loop } from "./fold-loop.ts";
import { knownAddress, knownTest } from "./fold-test.ts";
import type { BotInputs } from "./reference.ts";
import { NEEDS_BOT, type Term, valueTerm } from "./term.ts";

/** A term with the fields of `bot` folded in; what does not read them is the same term. */
export function specialise(term: Term, bot: BotInputs): Term {
  if ((term.needs & NEEDS_BOT) === 0) return term;
  const inner = (part: Term) => specialise(part, bot);
  switch (term.kind) {
    case "bot":
      return valueTerm(bot.get(term.field) ?? "");
    case "every":
    case "some":
      return specialiseJunction(term, bot);
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
    case "foreign":
      return { ...term, bot, needs: term.needs & ~NEEDS_BOT };
    case "value":
    case "failure":
    case "input":
    case "headers":
    case "variable":
      return term;
  }
}

/** Parts that decide alone end the work: most rules are false for a bot by their first part. */
function specialiseJunction(term: Extract<Term, { kind: "every" | "some" }>, bot: BotInputs): Term {
  const decisive = term.kind === "some";
  const terms: Term[] = [];
  for (const part of term.terms) {
    const known = specialise(part, bot);
    if (known.kind === "value" && known.value === decisive) return known;
    terms.push(known);
  }
  return decisive ? some(terms) : every(terms);
}
