import type { Expr, Expr_Call } from "@bufbuild/cel-spec/cel/expr/syntax_pb.js";
import { nearest } from "../../nearest.ts";
import { dashedName, inferInputIndex } from "./fields.ts";
import { type Inference, report, type Scope } from "./inference.ts";
import { checkLiterals } from "./literals.ts";
import { CALLABLE_NAMES, FUNCTIONS, type FunctionType, MACROS } from "./signatures.ts";
import { fits, substitute, type Type, typeName, UNKNOWN } from "./types.ts";

/** The type of a call or of an operator. */
export function inferCall(
  expr: Expr,
  call: Expr_Call,
  scope: Scope | undefined,
  inference: Inference,
): Type {
  const { name, args, isMethod } = readCall(call);
  if (name === "_-_") {
    const right = dashedName(expr, scope, inference);
    if (right !== undefined) {
      const place = inference.places.of(expr);
      report(inference, place, `\`-\` is subtraction; write \`${right}\``);
      return UNKNOWN;
    }
  }
  if (name === "_[_]") {
    const type = inferInputIndex(args, scope, inference);
    if (type !== undefined) return type;
  }
  const definition = FUNCTIONS.get(name);
  const types = args.map((arg) => inference.inferValue(arg, scope));
  if (definition === undefined) {
    report(inference, inference.places.ofMember(expr), unknownFunction(name));
    return UNKNOWN;
  }
  if (!fitsStyle(definition, isMethod)) {
    const message = `\`${name}\` is written \`${definition.usage}\``;
    report(inference, inference.places.ofMember(expr), message);
    return UNKNOWN;
  }
  checkLiterals(name, args, scope, inference);
  return applySignature(expr, definition, types, inference);
}

/** A call with what stands before the dot as its first argument. */
export function readCall(call: Expr_Call): {
  readonly name: string;
  readonly args: readonly Expr[];
  readonly isMethod: boolean;
} {
  const { target, args } = call;
  if (target === undefined) return { name: call.function, args, isMethod: false };
  if (target.exprKind.case === "identExpr") {
    // A qualified function name wins over a method, in the reference evaluator too.
    const qualified = `${target.exprKind.value.name}.${call.function}`;
    if (FUNCTIONS.has(qualified)) return { name: qualified, args, isMethod: false };
  }
  return { name: call.function, args: [target, ...args], isMethod: true };
}

function fitsStyle(definition: FunctionType, isMethod: boolean): boolean {
  switch (definition.style) {
    case "either":
      return true;
    case "method":
      return isMethod;
    case "function":
    case "operator":
      return !isMethod;
  }
}

function applySignature(
  expr: Expr,
  definition: FunctionType,
  types: readonly Type[],
  inference: Inference,
): Type {
  for (const { parameters, result } of definition.signatures) {
    const bindings = new Map<string, Type>();
    if (parameters.length !== types.length) continue;
    if (parameters.every((wanted, index) => fits(wanted, types[index] ?? UNKNOWN, bindings))) {
      return substitute(result, bindings);
    }
  }
  const { places } = inference;
  const place = definition.style === "operator" ? places.of(expr) : places.ofMember(expr);
  report(inference, place, mismatch(definition, types));
  return definition.signatures[0]?.result.kind === "bool" ? { kind: "bool" } : UNKNOWN;
}

function mismatch(definition: FunctionType, types: readonly Type[]): string {
  const { usage, signatures, name } = definition;
  const [left = UNKNOWN, right = UNKNOWN] = types;
  if (name === "_==_" || name === "_!=_") {
    return `\`${usage}\` cannot compare ${typeName(left)} with ${typeName(right)}`;
  }
  const taken = signatures.slice(0, 4).map(({ parameters }) => tuple(parameters));
  const more = signatures.length > taken.length ? ", …" : "";
  const subject = definition.style === "operator" ? usage : name;
  const form = definition.style === "operator" ? "" : `, written \`${usage}\``;
  return `\`${subject}\` does not take ${tuple(types)}; it takes ${taken.join(", ")}${more}${form}`;
}

function tuple(types: readonly Type[]): string {
  return `(${types.map(typeName).join(", ")})`;
}

const MACRO_USAGES: ReadonlyMap<string, string> = new Map([
  ["has", "has(request.headers.referer)"],
  ["all", "list.all(x, condition)"],
  ["exists", "list.exists(x, condition)"],
  ["exists_one", "list.exists_one(x, condition)"],
  ["map", "list.map(x, value)"],
  ["filter", "list.filter(x, condition)"],
]);

function unknownFunction(name: string): string {
  const usage = MACRO_USAGES.get(name);
  if (usage !== undefined && MACROS.includes(name)) return `\`${name}\` is written \`${usage}\``;
  const right = nearest(name, CALLABLE_NAMES);
  const hint = right === undefined ? "" : `did you mean \`${right}\`? `;
  return `unknown function \`${name}\`; ${hint}supported are ${CALLABLE_NAMES.join(", ")}`;
}
