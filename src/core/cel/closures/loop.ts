import { type CelValue, celList } from "@bufbuild/cel";
import type { CrawlRequest } from "../../request.ts";
import { itemsOf } from "../apply.ts";
import type { Compiler, Run } from "../predicate.ts";
import { Failure, type LoopTerm, type Term } from "../term.ts";

/** A macro's closures, and where its variable is put while they run. */
interface Body {
  readonly frame: CelValue[];
  readonly slot: number;
  /** Always true where the macro has no condition. */
  readonly test: Run;
  readonly step: Run;
}

type Walk = (
  items: readonly CelValue[],
  body: Body,
  request: CrawlRequest,
  path: string,
) => CelValue | Failure;

/** A macro over each item of its range. */
export function compileLoop(term: LoopTerm, compiler: Compiler): Run {
  const optional = (part: Term | undefined): Run =>
    part === undefined ? () => true : compiler.compile(part);
  const body: Body = {
    frame: compiler.frame,
    slot: term.slot,
    test: optional(term.test),
    step: optional(term.step),
  };
  const walk = walkOf(term);
  if (term.range.kind === "value") {
    const items = itemsOf(term.range.value);
    return (request, path) => walk(items, body, request, path);
  }
  const range = compiler.compile(term.range);
  return (request, path) => {
    const value = range(request, path);
    return value instanceof Failure ? value : walk(itemsOf(value), body, request, path);
  };
}

function walkOf({ macro, test }: LoopTerm): Walk {
  switch (macro) {
    case "exists":
      return createDecide(true);
    case "all":
      return createDecide(false);
    case "exists_one":
      return countOne;
    case "map":
      return test === undefined ? collect : collectSome;
  }
}

/** `exists` where `decisive` is true, else `all`: the first decisive answer, else the first error. */
function createDecide(decisive: boolean): Walk {
  return (items, { frame, slot, test }, request, path) => {
    let answer: CelValue | Failure = !decisive;
    for (const item of items) {
      frame[slot] = item;
      const value = test(request, path);
      if (value === decisive) return decisive;
      if (value instanceof Failure && answer === !decisive) answer = value;
    }
    return answer;
  };
}

/** An error of the test makes an error of all, and the last one is told. */
const countOne: Walk = (items, { frame, slot, test }, request, path) => {
  let failure: Failure | undefined;
  let count = 0;
  for (const item of items) {
    frame[slot] = item;
    const value = test(request, path);
    if (value === true) count++;
    else if (value instanceof Failure) failure = value;
  }
  return failure ?? count === 1;
};

/** The first error is told. */
const collect: Walk = (items, { frame, slot, step }, request, path) => {
  const values: CelValue[] = [];
  for (const item of items) {
    frame[slot] = item;
    const value = step(request, path);
    if (value instanceof Failure) return value;
    values.push(value);
  }
  return celList(values);
};

/** `filter`, and `map` with a condition: of errors, the last of a test or else the first value's. */
const collectSome: Walk = (items, { frame, slot, test, step }, request, path) => {
  const values: CelValue[] = [];
  let failure: Failure | undefined;
  for (const item of items) {
    frame[slot] = item;
    const passes = test(request, path);
    const value = passes === true && failure === undefined ? step(request, path) : passes;
    if (value instanceof Failure) failure = value;
    else if (passes === true) values.push(value);
  }
  return failure ?? celList(values);
};
