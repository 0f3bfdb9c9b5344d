import { itemsOf } from "../cel/apply.ts";
import { innerTerms } from "../cel/foreign.ts";
import { substitute } from "../cel/substitute.ts";
import { type CallTerm, type LoopTerm, slotBit, type Term, valueTerm } from "../cel/term.ts";
import { createTextIndex, NO_RANK, type TextIndex } from "../cel/text-index.ts";
import { type Glob, globsOfPattern, matchesGlob } from "./glob.ts";

/**
 * A condition as robots.txt can see it: tests of the path, and what it cannot tell. What is unknown
 * makes the whole unknown only where it matters.
 */
export type Formula =
  | { readonly kind: "known"; readonly value: boolean }
  /** Always ends in an error. */
  | { readonly kind: "failure" }
  /** `cause` names an input, or a form that no pattern has; for people. */
  | { readonly kind: "unknown"; readonly cause: string; readonly mayFail: boolean }
  | TextsFormula
  | { readonly kind: "globs"; readonly globs: readonly Glob[] }
  | { readonly kind: "every" | "some" | "one"; readonly parts: readonly Formula[] }
  /** The condition, what holds if it does, and what else. */
  | { readonly kind: "choice"; readonly parts: readonly [Formula, Formula, Formula] }
  | { readonly kind: "not"; readonly parts: readonly [Formula] };

/** Whether the path is one of some texts, or starts with one. */
export interface TextsFormula {
  readonly kind: "texts";
  readonly exact: readonly string[];
  readonly prefixes: readonly string[];
  /** Both, made to be searched: a set can hold thousands. */
  readonly index: TextIndex;
}

const TRUE: Formula = { kind: "known", value: true };
const FALSE: Formula = { kind: "known", value: false };

/** What is left of a condition when bot, host and method are folded in. */
export function toFormula(term: Term): Formula {
  switch (term.kind) {
    case "value":
      return term.value === true ? TRUE : FALSE;
    case "every":
    case "some":
      return { kind: term.kind, parts: term.terms.map(toFormula) };
    case "choice":
      return {
        kind: "choice",
        parts: [toFormula(term.condition), toFormula(term.yes), toFormula(term.no)],
      };
    case "call":
      return callFormula(term);
    case "text":
      return term.text.kind === "input" && term.text.field === "path"
        ? textsFormula(term.exact, term.prefixes)
        : unknownOf(term);
    case "loop":
      return loopFormula(term);
    case "failure":
      return { kind: "failure" };
    case "bot":
    case "input":
    case "headers":
    case "variable":
    case "lookup":
    case "has":
    case "list":
    case "address":
    case "foreign":
      return unknownOf(term);
  }
}

function callFormula(term: CallTerm): Formula {
  const [subject, constant] = term.args;
  if (term.name === "!_" && subject !== undefined) return negation(toFormula(subject));
  if (subject === undefined || constant === undefined) return unknownOf(term);
  if (term.name === "_!=_") {
    const text = textCompared(subject, constant);
    if (text === undefined) return unknownOf(term);
    return negation(textsFormula([text], []));
  }
  const globs = isPath(subject) ? globsOf(term.name, textOf(constant)) : undefined;
  if (globs !== undefined) return globFormula(globs);
  return isLengthOne(term) ? textsFormula(["/"], []) : unknownOf(term);
}

function textsFormula(exact: readonly string[], prefixes: readonly string[]): TextsFormula {
  const ranked = (texts: readonly string[]) => new Map(texts.map((text) => [text, 0]));
  return {
    kind: "texts",
    exact,
    prefixes,
    index: createTextIndex(ranked(exact), ranked(prefixes)),
  };
}

function negation(part: Formula): Formula {
  return { kind: "not", parts: [part] };
}

function globsOf(name: string, text: string | undefined): readonly Glob[] | undefined {
  if (text === undefined) return undefined;
  switch (name) {
    case "endsWith":
      return [{ pieces: [text], isStart: false, isEnd: true }];
    case "contains":
      return [{ pieces: [text], isStart: false, isEnd: false }];
    case "matches":
      return globsOfPattern(text);
    default:
      return undefined;
  }
}

/** A glob of one piece that stands at the start is a prefix, or the whole path. */
function globFormula(globs: readonly Glob[]): Formula {
  const anchored = globs.filter((glob) => glob.isStart && glob.pieces.length === 1);
  const exact = anchored.filter((glob) => glob.isEnd).map((glob) => glob.pieces[0]);
  const prefixes = anchored.filter((glob) => !glob.isEnd).map((glob) => glob.pieces[0]);
  const floating = globs.filter((glob) => !anchored.includes(glob));
  if (floating.some((glob) => glob.pieces[0] === "")) return TRUE;
  const anchoredTexts = textsFormula(exact, prefixes);
  return { kind: "some", parts: [anchoredTexts, { kind: "globs", globs: floating }] };
}

function isPath(term: Term): boolean {
  return term.kind === "input" && term.field === "path";
}

function textOf(term: Term): string | undefined {
  return term.kind === "value" && typeof term.value === "string" ? term.value : undefined;
}

/** The constant that the path is compared with, on whichever side it stands. */
function textCompared(left: Term, right: Term): string | undefined {
  if (isPath(left)) return textOf(right);
  return isPath(right) ? textOf(left) : undefined;
}

/** `size(path) == 1`: only `/` is as short. */
function isLengthOne({ name, args }: CallTerm): boolean {
  const [size, length] = args;
  if (name !== "_==_" || size?.kind !== "call" || size.name !== "size") return false;
  const [subject] = size.args;
  return (
    subject !== undefined && isPath(subject) && length?.kind === "value" && length.value === 1n
  );
}

/** A macro over a constant list, written out; other macros are more than patterns can say. */
function loopFormula(term: LoopTerm): Formula {
  const { range, test, slot, macro } = term;
  if (range.kind !== "value" || test === undefined || macro === "map") return unknownOf(term);
  const parts = itemsOf(range.value).map((item) => {
    const replace = (leaf: Term) =>
      leaf.kind === "variable" && leaf.slot === slot ? valueTerm(item) : undefined;
    return toFormula(substitute(test, { needs: slotBit(slot), replace }));
  });
  const kind = macro === "exists" ? "some" : macro === "all" ? "every" : "one";
  return { kind, parts };
}

function unknownOf(term: Term): Formula {
  const inputs = new Set<string>();
  collectInputs(term, inputs);
  inputs.delete("request.path");
  const cause =
    inputs.size === 0
      ? "a test of the path that no pattern can say"
      : `\`${[...inputs].join("`, `")}\``;
  return { kind: "unknown", cause, mayFail: term.mayFail };
}

function collectInputs(term: Term, inputs: Set<string>): void {
  if (term.kind === "input") inputs.add(`request.${term.field}`);
  if (term.kind === "headers") inputs.add("request.headers");
  if (term.kind === "foreign") inputs.add("a map literal");
  if (term.kind === "call" && term.name === "header") inputs.add("request.headers");
  for (const part of innerTerms(term)) collectInputs(part, inputs);
}

/** What a condition may come to: a set of bits. */
export type Outcomes = number;

export const HOLDS = 1;
const FAILS_TO_HOLD = 2;
/** An error of evaluation: the rule does not match. */
const ERROR = 4;

/** What a condition may come to for a path, by what robots.txt can see. */
export function outcomesOf(formula: Formula, path: string): Outcomes {
  switch (formula.kind) {
    case "known":
      return certain(formula.value);
    case "failure":
      return ERROR;
    case "unknown":
      return HOLDS | FAILS_TO_HOLD | (formula.mayFail ? ERROR : 0);
    case "texts":
      return certain(formula.index(path) !== NO_RANK);
    case "globs":
      return certain(formula.globs.some((glob) => matchesGlob(path, glob)));
    case "not":
      return negate(outcomesOf(formula.parts[0], path));
    case "choice":
      return choose(formula.parts, path);
    case "every":
      return formula.parts.reduce((sum, part) => both(sum, outcomesOf(part, path)), HOLDS);
    case "some":
      // By De Morgan: an error gives way to what decides in the same way.
      return negate(
        formula.parts.reduce((sum, part) => both(sum, negate(outcomesOf(part, path))), HOLDS),
      );
    case "one":
      return exactlyOne(formula.parts.map((part) => outcomesOf(part, path)));
  }
}

function certain(value: boolean): Outcomes {
  return value ? HOLDS : FAILS_TO_HOLD;
}

function negate(outcomes: Outcomes): Outcomes {
  return (
    (outcomes & ERROR) |
    ((outcomes & HOLDS) === 0 ? 0 : FAILS_TO_HOLD) |
    ((outcomes & FAILS_TO_HOLD) === 0 ? 0 : HOLDS)
  );
}

/** `&&`: false wins over an error, wherever it stands. */
function both(left: Outcomes, right: Outcomes): Outcomes {
  const notFalse = HOLDS | ERROR;
  const fails = (left & ERROR && right & notFalse) || (right & ERROR && left & notFalse);
  return (left & right & HOLDS) | ((left | right) & FAILS_TO_HOLD) | (fails ? ERROR : 0);
}

function choose([condition, yes, no]: readonly Formula[], path: string): Outcomes {
  if (condition === undefined || yes === undefined || no === undefined) return ERROR;
  const chosen = outcomesOf(condition, path);
  return (
    (chosen & ERROR) |
    ((chosen & HOLDS) === 0 ? 0 : outcomesOf(yes, path)) |
    ((chosen & FAILS_TO_HOLD) === 0 ? 0 : outcomesOf(no, path))
  );
}

function exactlyOne(parts: readonly Outcomes[]): Outcomes {
  if (parts.every((part) => part === HOLDS || part === FAILS_TO_HOLD)) {
    return certain(parts.filter((part) => part === HOLDS).length === 1);
  }
  const all = parts.reduce((sum, part) => sum | part, 0);
  return HOLDS | FAILS_TO_HOLD | (all & ERROR);
}
