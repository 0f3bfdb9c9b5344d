import { isCelMap } from "@bufbuild/cel";
import { absentKey, isMapKey, lookUp } from "../apply.ts";
import type { Compiler, Run } from "../predicate.ts";
import { Failure, type Term } from "../term.ts";

/** `operand[key]`. A header field is asked for by name: the map of all is not made for it. */
export function compileLookup(operand: Term, key: Term, compiler: Compiler): Run {
  if (operand.kind === "headers") return compileHeader(key, compiler);
  const operandRun = compiler.compile(operand);
  const keyRun = compiler.compile(key);
  return (request, path) => {
    const container = operandRun(request, path);
    if (container instanceof Failure) return container;
    const name = keyRun(request, path);
    return name instanceof Failure ? name : lookUp(container, name);
  };
}

function compileHeader(key: Term, compiler: Compiler): Run {
  if (key.kind === "value" && typeof key.value === "string") {
    const name = key.value;
    const absent = absentKey(name);
    return (request) => request.headers.get(name) ?? absent;
  }
  const keyRun = compiler.compile(key);
  return (request, path) => {
    const name = keyRun(request, path);
    if (typeof name !== "string") return name instanceof Failure ? name : absentKey(name);
    return request.headers.get(name) ?? absentKey(name);
  };
}

/** `has(operand.key)`. */
export function compileHas(operand: Term, key: Term, compiler: Compiler): Run {
  const keyRun = compiler.compile(key);
  if (operand.kind === "headers") {
    return (request, path) => {
      const name = keyRun(request, path);
      return typeof name === "string" ? request.headers.get(name) !== undefined : name;
    };
  }
  const operandRun = compiler.compile(operand);
  return (request, path) => {
    const container = operandRun(request, path);
    if (container instanceof Failure) return container;
    const name = keyRun(request, path);
    if (name instanceof Failure) return name;
    return isCelMap(container) && isMapKey(name) && container.has(name);
  };
}
