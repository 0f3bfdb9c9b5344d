import { type CelValue, celList } from "@bufbuild/cel";
import { applyFunction, lookUp } from "./apply.ts";
import { foldTest } from "./fold-test.ts";
import {
  FALSE,
  Failure,
  failureTerm,
  NEEDS_REQUEST,
  needsOf,
  type Term,
  TRUE,
  valueTerm,
} from "./term.ts";
import { mergeTexts } from "./text-term.ts";

/** `&&`: false wins over an error, wherever it stands; true terms fall away. */
export function every(terms: readonly Term[]): Term {
  return junction("every", terms);
}

/** `||`: true wins over an error, wherever it stands; false terms fall away. */
export function some(terms: readonly Term[]): Term {
  return junction("some", terms);
}

function junction(kind: "every" | "some", terms: readonly Term[]): Term {
  const decisive = kind === "some";
  if (terms.some((term) => term.kind === "value" && term.value === decisive)) {
    return decisive ? TRUE : FALSE;
  }
  const kept = terms
    .filter((term) => term.kind !== "value")
    .flatMap((term) => (term.kind === kind ? term.terms : [term]));
  const merged = kind === "some" ? mergeTexts(kept) : kept;
  const [first, second] = merged;
  if (first === undefined) return decisive ? FALSE : TRUE;
  if (second === undefined) return first;
  if (merged.every((term) => term.kind === "failure")) return first;
  return { kind, terms: merged, needs: needsOf(merged), mayFail: merged.some(mayFail) };
}

/** `!`. */
export function not(term: Term): Term {
  if (term.kind === "value") return term.value === true ? FALSE : TRUE;
  if (term.kind === "failure") return term;
  if (term.kind === "call" && term.name === "!_") return term.args[0] ?? term;
  const { needs, mayFail: fails } = term;
  return { kind: "call", name: "!_", isMethod: false, args: [term], needs, mayFail: fails };
}

/** `condition ? yes : no`. */
export function choice(condition: Term, yes: Term, no: Term): Term {
  if (condition.kind === "failure") return condition;
  if (condition.kind === "value") return condition.value === true ? yes : no;
  const terms = [condition, yes, no];
  const common = { needs: needsOf(terms), mayFail: terms.some(mayFail) };
  return { kind: "choice", condition, yes, no, ...common };
}

/** A call: worked out where its arguments are constant, an index where it tests a text. */
export function call(name: string, isMethod: boolean, args: readonly Term[]): Term {
  if (name === "!_" && args[0] !== undefined) return not(args[0]);
  const failed = firstFailure(args);
  if (failed !== undefined) return failed;
  const values = constantsOf(args);
  // `header` has one argument that is not written: the fields of the request.
  if (values !== undefined && name !== "header") {
    return resultTerm(applyFunction(name, isMethod, values));
  }
  const test = foldTest(name, args);
  if (test !== undefined) return test;
  const needs = needsOf(args) | (name === "header" ? NEEDS_REQUEST : 0);
  const fails = args.some(mayFail) || !NEVER_FAILS.has(name);
  return { kind: "call", name, isMethod, args, needs, mayFail: fails };
}

/** `operand[key]`, or whether there is one. */
export function lookup(kind: "lookup" | "has", operand: Term, key: Term): Term {
  const failed = firstFailure([operand, key]);
  if (failed !== undefined) return failed;
  if (operand.kind === "value" && key.kind === "value") {
    const found = lookUp(operand.value, key.value);
    if (kind === "has") return found instanceof Failure ? FALSE : TRUE;
    return resultTerm(found);
  }
  const needs = operand.needs | key.needs;
  const fails = kind === "lookup" || operand.mayFail || key.mayFail;
  return { kind, operand, key, needs, mayFail: fails };
}

/** `[a, b]`. */
export function list(elements: readonly Term[]): Term {
  const failed = firstFailure(elements);
  if (failed !== undefined) return failed;
  const values = constantsOf(elements);
  if (values !== undefined) return valueTerm(celList(values));
  return { kind: "list", elements, needs: needsOf(elements), mayFail: elements.some(mayFail) };
}

/** A constant or an error, as a term. */
export function resultTerm(result: CelValue | Failure): Term {
  return result instanceof Failure ? failureTerm(result) : valueTerm(result);
}

/** The values of constant terms, or undefined when one is not constant. */
function constantsOf(terms: readonly Term[]): readonly CelValue[] | undefined {
  const values: CelValue[] = [];
  for (const term of terms) {
    if (term.kind !== "value") return undefined;
    values.push(term.value);
  }
  return values;
}

/** The error that evaluating these terms in order surely ends in, whatever the request. */
export function firstFailure(terms: readonly Term[]): Term | undefined {
  for (const term of terms) {
    if (term.kind === "failure") return term;
    if (term.mayFail) return undefined;
  }
  return undefined;
}

function mayFail(term: Term): boolean {
  return term.mayFail;
}

/** Functions that end in an error only when an argument does, given arguments of their types. */
const NEVER_FAILS: ReadonlySet<string> = new Set([
  ..."_==_ _!=_ _<_ _<=_ _>_ _>=_ @in size contains startsWith endsWith matches".split(" "),
  ..."lowerAscii upperAscii trim replace split join string double strings.quote".split(" "),
  ..."pathUnder header".split(" "),
]);
