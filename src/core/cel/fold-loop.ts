import { type CelList, type CelValue, celList } from "@bufbuild/cel";
import { itemsOf } from "./apply.ts";
import { call, every, firstFailure, not, resultTerm, some } from "./fold.ts";
import { type Comparison, testAgainst } from "./fold-test.ts";
import { createCompiler, evaluateClosed } from "./predicate.ts";
import {
  FALSE,
  Failure,
  type LoopTerm,
  needsOf,
  slotBit,
  type Term,
  TRUE,
  valueTerm,
} from "./term.ts";

/** What a macro is made of. */
export type LoopParts = Pick<LoopTerm, "macro" | "range" | "slot" | "test" | "step">;

/** A macro: worked out where it is constant, one look-up where it compares with constants. */
export function loop(parts: LoopParts): Term {
  const failed = firstFailure([parts.range]);
  if (failed !== undefined) return failed;
  const general = generalLoop(parts);
  if (general.needs === 0) return resultTerm(evaluateClosed(createCompiler().compile(general)));
  const { range, test, macro } = parts;
  if (range.kind !== "value" || test === undefined) return general;
  const items = itemsOf(range.value);
  if (items.length === 0) return emptyLoop(general);
  if (macro === "exists") return findAny(parts, test, items) ?? general;
  if (macro === "all") {
    const counterexample = findAny(parts, not(test), items);
    return counterexample === undefined ? general : not(counterexample);
  }
  return general;
}

function generalLoop(parts: LoopParts): LoopTerm {
  const { range, slot, test, step } = parts;
  const body = [test, step].filter((term) => term !== undefined);
  const needs = range.needs | (needsOf(body) & ~slotBit(slot));
  const mayFail = range.mayFail || body.some((term) => term.mayFail);
  return { kind: "loop", ...parts, needs, mayFail };
}

function emptyLoop(term: LoopTerm): Term {
  switch (term.macro) {
    case "exists":
    case "exists_one":
      return FALSE;
    case "all":
      return TRUE;
    case "map":
      return valueTerm(celList([]));
  }
}

/**
 * Whether one of the items, of which there is at least one, passes the test; undefined when that
 * takes a loop. Parts of the test that do not depend on the item are asked once.
 */
function findAny(parts: LoopParts, test: Term, items: readonly CelValue[]): Term | undefined {
  if (test.kind === "every" || test.kind === "some") {
    const dependent = test.terms.filter((term) => (term.needs & slotBit(parts.slot)) !== 0);
    const [only, another] = dependent;
    if (only === undefined || another !== undefined) return undefined;
    const found = findAny(parts, only, items);
    if (found === undefined) return undefined;
    const terms = test.terms.map((term) => (term === only ? found : term));
    return test.kind === "every" ? every(terms) : some(terms);
  }
  if ((test.needs & slotBit(parts.slot)) === 0) return test;
  return compareAny(parts.slot, test, items);
}

const COMPARISONS: ReadonlyMap<string, Comparison> = new Map([
  ["_==_", "equal"],
  ["startsWith", "prefix"],
  ["pathUnder", "path"],
  ["inCidr", "address"],
]);

/** A comparison of something that is the same for all items with something made of the item alone. */
function compareAny(slot: number, test: Term, items: readonly CelValue[]): Term | undefined {
  const comparison = test.kind === "call" ? COMPARISONS.get(test.name) : undefined;
  if (test.kind !== "call" || comparison === undefined) return undefined;
  const operands = splitOperands(test.args, slotBit(slot), comparison === "equal");
  const candidates =
    operands === undefined ? undefined : evaluateEach(operands.candidate, slot, items);
  if (operands === undefined || candidates === undefined) return undefined;
  const { subject } = operands;
  if (comparison === "equal") return call("@in", false, [subject, valueTerm(candidates)]);
  return testAgainst(subject, [...candidates].map(valueTerm), comparison);
}

function splitOperands(
  [left, right]: readonly Term[],
  bit: number,
  isSymmetric: boolean,
): { readonly subject: Term; readonly candidate: Term } | undefined {
  if (left === undefined || right === undefined) return undefined;
  const [subject, candidate] = isSymmetric && left.needs === bit ? [right, left] : [left, right];
  return (subject.needs & bit) === 0 && candidate.needs === bit
    ? { subject, candidate }
    : undefined;
}

/** The values of a term for each item, or undefined when one is an error. */
function evaluateEach(term: Term, slot: number, items: readonly CelValue[]): CelList | undefined {
  const { compile, frame } = createCompiler();
  const run = compile(term);
  const values: CelValue[] = [];
  for (const item of items) {
    frame[slot] = item;
    const value = evaluateClosed(run);
    if (value instanceof Failure) return undefined;
    values.push(value);
  }
  return celList(values);
}
