import { type CelValue, isCelList } from "@bufbuild/cel";
import { applyFunction } from "../apply.ts";
import { pathUnder } from "../functions.ts";
import { compilePattern } from "../patterns.ts";
import type { Compiler, Run } from "../predicate.ts";
import { type CallTerm, Failure, type Term } from "../term.ts";
import { lowerAscii, upperAscii } from "../text-functions.ts";
import { runAll } from "./run-all.ts";

/** A call: by hand where rules often call it, else by the reference evaluator's own function. */
export function compileCall(term: CallTerm, compiler: Compiler): Run {
  return compileKnown(term, compiler) ?? compileAny(term, compiler);
}

function compileKnown(term: CallTerm, compiler: Compiler): Run | undefined {
  const [first, second] = term.args;
  if (first === undefined) return undefined;
  if (second === undefined) return compileUnary(term.name, first, compiler);
  if (term.name === "matches") return compileMatches(first, second, compiler);
  if (term.name === "@in") return compileIn(first, second, compiler);
  const compare = term.args.length === 2 ? COMPARISONS.get(term.name) : undefined;
  if (compare === undefined) return undefined;
  return compileBinary(term, compare, compiler.compile(first), compiler.compile(second));
}

/** Comparisons of two texts, the only values that a request brings. */
const COMPARISONS: ReadonlyMap<string, (left: string, right: string) => boolean> = new Map([
  ["_==_", (left: string, right: string) => left === right],
  ["_!=_", (left: string, right: string) => left !== right],
  ["startsWith", (left: string, right: string) => left.startsWith(right)],
  ["endsWith", (left: string, right: string) => left.endsWith(right)],
  ["contains", (left: string, right: string) => left.includes(right)],
  ["pathUnder", pathUnder],
]);

function compileBinary(
  term: CallTerm,
  compare: (left: string, right: string) => boolean,
  left: Run,
  right: Run,
): Run {
  const { name, isMethod } = term;
  return (request, path) => {
    const one = left(request, path);
    if (one instanceof Failure) return one;
    const other = right(request, path);
    if (typeof one === "string" && typeof other === "string") return compare(one, other);
    return other instanceof Failure ? other : applyFunction(name, isMethod, [one, other]);
  };
}

const TURNS: ReadonlyMap<string, (text: string) => string> = new Map([
  ["lowerAscii", lowerAscii],
  ["upperAscii", upperAscii],
]);

function compileUnary(name: string, arg: Term, compiler: Compiler): Run | undefined {
  const run = compiler.compile(arg);
  if (name === "!_") {
    return (request, path) => {
      const value = run(request, path);
      return typeof value === "boolean" ? !value : value;
    };
  }
  const turn = TURNS.get(name);
  if (turn !== undefined) {
    return (request, path) => {
      const value = run(request, path);
      return typeof value === "string" ? turn(value) : value;
    };
  }
  if (name !== "header") return undefined;
  if (arg.kind === "value" && typeof arg.value === "string") {
    const constant = arg.value.toLowerCase();
    return (request) => request.headers.get(constant) ?? "";
  }
  return (request, path) => {
    const field = run(request, path);
    if (typeof field !== "string") return field;
    return request.headers.get(field.toLowerCase()) ?? "";
  };
}

function compileMatches(text: Term, pattern: Term, compiler: Compiler): Run | undefined {
  if (pattern.kind !== "value" || typeof pattern.value !== "string") return undefined;
  const compiled = compilePattern(pattern.value);
  const run = compiler.compile(text);
  return (request, path) => {
    const value = run(request, path);
    return typeof value === "string" ? compiled.test(value) : value;
  };
}

/** `in` a constant list of one scalar type, or in the header fields. */
function compileIn(item: Term, container: Term, compiler: Compiler): Run | undefined {
  const run = compiler.compile(item);
  if (container.kind === "headers") {
    return (request, path) => {
      const name = run(request, path);
      return typeof name === "string" ? request.headers.get(name) !== undefined : name;
    };
  }
  const values = container.kind === "value" ? hashable(container.value) : undefined;
  if (values === undefined) return undefined;
  return (request, path) => {
    const value = run(request, path);
    return value instanceof Failure ? value : values.has(value);
  };
}

/** The items of a list whose equality is that of a Set. */
function hashable(container: CelValue): ReadonlySet<CelValue> | undefined {
  if (!isCelList(container)) return undefined;
  const items = [...container];
  const types = new Set(items.map((item) => typeof item));
  return types.has("object") || types.has("number") || types.size > 1 ? undefined : new Set(items);
}

function compileAny(term: CallTerm, compiler: Compiler): Run {
  const { name, isMethod } = term;
  const runs = term.args.map(compiler.compile);
  return (request, path) => {
    const values = runAll(runs, request, path);
    return values instanceof Failure ? values : applyFunction(name, isMethod, values);
  };
}
