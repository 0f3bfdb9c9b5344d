import { type CelValue, celList, celMap } from "@bufbuild/cel";
import type { CrawlRequest } from "../request.ts";
import { compileCall } from "./closures/call.ts";
import { compileHas, compileLookup } from "./closures/lookup.ts";
import { compileLoop } from "./closures/loop.ts";
import { runAll } from "./closures/run-all.ts";
import { compileAddress, compileText, INPUTS } from "./closures/text.ts";
import type { BotInputs } from "./reference.ts";
import { Failure, type ForeignTerm, type Term } from "./term.ts";

/** A term, ready to run. Pure, and total: an error is a value. */
export type Run = (request: CrawlRequest, path: string) => CelValue | Failure;

/** Turns terms into closures; a term that is shared is compiled once. */
export interface Compiler {
  readonly compile: (term: Term) => Run;
  /** The values of the macros' variables, by slot, while a closure runs. */
  readonly frame: CelValue[];
}

/** Makes a compiler. Its closures share scratch space, which is safe: none of them waits. */
export function createCompiler(): Compiler {
  const compiled = new WeakMap<Term, Run>();
  const compiler: Compiler = {
    frame: [],
    compile: (term) => {
      const known = compiled.get(term);
      if (known !== undefined) return known;
      const run = compileTerm(term, compiler);
      compiled.set(term, run);
      return run;
    },
  };
  return compiler;
}

const NO_REQUEST: CrawlRequest = {
  method: "",
  scheme: "http",
  host: "",
  authority: "",
  target: { rawPath: "", query: "", readings: [""] },
  address: { ip: "", limitKey: "", isPublic: false },
  userAgent: "",
  headers: { get: () => undefined, all: () => new Map() },
};

/** Runs what needs no request. */
export function evaluateClosed(run: Run): CelValue | Failure {
  return run(NO_REQUEST, "");
}

function compileTerm(term: Term, compiler: Compiler): Run {
  switch (term.kind) {
    case "value":
      return constantly(term.value);
    case "failure":
      return constantly(term.failure);
    case "bot":
      throw new Error(`bot.${term.field} must be known before a condition is compiled`);
    case "input":
      return INPUTS[term.field];
    case "headers":
      return (request) => celMap(request.headers.all());
    case "variable":
      return compileVariable(term.slot, compiler);
    case "every":
    case "some":
      return compileJunction(term.terms.map(compiler.compile), term.kind === "some");
    case "choice":
      return compileChoice(
        compiler.compile(term.condition),
        compiler.compile(term.yes),
        compiler.compile(term.no),
      );
    case "call":
      return compileCall(term, compiler);
    case "lookup":
      return compileLookup(term.operand, term.key, compiler);
    case "has":
      return compileHas(term.operand, term.key, compiler);
    case "list":
      return compileList(term.elements.map(compiler.compile));
    case "loop":
      return compileLoop(term, compiler);
    case "text":
      return compileText(term, compiler);
    case "address":
      return compileAddress(term, compiler);
    case "foreign":
      return compileForeign(term, compiler);
  }
}

function constantly(value: CelValue | Failure): Run {
  return () => value;
}

function compileVariable(slot: number, { frame }: Compiler): Run {
  return () => frame[slot] ?? UNSET;
}

const UNSET = new Failure("a macro's variable has no value");

/** `||` where `decisive` is true, else `&&`: the first decisive answer, else the first error. */
function compileJunction(runs: readonly Run[], decisive: boolean): Run {
  const [first, second, third] = runs;
  if (first !== undefined && second !== undefined && third === undefined) {
    return (request, path) => {
      const left = first(request, path);
      if (left === decisive) return decisive;
      const right = second(request, path);
      return right === decisive || left === !decisive ? right : left;
    };
  }
  return (request, path) => {
    let failure: CelValue | Failure = !decisive;
    for (const run of runs) {
      const value = run(request, path);
      if (value === decisive) return decisive;
      if (failure === !decisive) failure = value;
    }
    return failure;
  };
}

function compileChoice(condition: Run, yes: Run, no: Run): Run {
  return (request, path) => {
    const chosen = condition(request, path);
    if (chosen === true) return yes(request, path);
    return chosen === false ? no(request, path) : chosen;
  };
}

function compileList(runs: readonly Run[]): Run {
  return (request, path) => {
    const values = runAll(runs, request, path);
    return values instanceof Failure ? values : celList(values);
  };
}

function compileForeign(term: ForeignTerm, { frame }: Compiler): Run {
  const { run, variables } = term;
  const bot: BotInputs = term.bot ?? new Map();
  return (request, path) => {
    const bound = variables.map(([name, slot]): [string, CelValue] => [name, frame[slot] ?? null]);
    return run(bot, request, path, Object.fromEntries(bound));
  };
}
