import type { Term } from "./term.ts";

/** Why a part of a term is left to the reference evaluator; undefined when none is. */
export function foreignReason(term: Term): string | undefined {
  if (term.kind === "foreign") return term.reason;
  for (const part of innerTerms(term)) {
    const reason = foreignReason(part);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** The direct parts of a term. */
export function innerTerms(term: Term): readonly Term[] {
  switch (term.kind) {
    case "every":
    case "some":
      return term.terms;
    case "choice":
      return [term.condition, term.yes, term.no];
    case "call":
      return term.args;
    case "lookup":
    case "has":
      return [term.operand, term.key];
    case "list":
      return term.elements;
    case "loop":
      return [term.range, term.test, term.step].filter((part) => part !== undefined);
    case "text":
    case "address":
      return [term.text];
    case "value":
    case "failure":
    case "bot":
    case "input":
    case "headers":
    case "variable":
    case "foreign":
      return [];
  }
}
