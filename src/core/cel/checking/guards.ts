import type { Expr, Expr_Call } from "@bufbuild/cel-spec/cel/expr/syntax_pb.js";
import type { UnguardedAccess } from "../check.ts";
import { readMacro } from "../macros.ts";
import { isHeaders, stringLiteral } from "./inference.ts";
import type { Places } from "./places.ts";

/**
 * Header fields that are looked up where nothing says that they are there. `&&` and `||` protect
 * both ways, since CEL lets the side that is not an error decide.
 */
export function findUnguarded(ast: Expr, places: Places): readonly UnguardedAccess[] {
  const found: UnguardedAccess[] = [];
  walk(ast, new Set(), (access) => {
    found.push(describe(access, places));
  });
  return found;
}

type Guards = ReadonlySet<string>;
type Note = (access: Expr) => void;

function walk(expr: Expr, guards: Guards, note: Note): void {
  const key = accessedKey(expr);
  if (key !== undefined && !guards.has(key)) note(expr);
  for (const [child, more] of childrenOf(expr)) {
    walk(child, more.length === 0 ? guards : new Set([...guards, ...more]), note);
  }
}

/** The parts of an expression, each with the keys that are present whenever its value counts. */
function childrenOf(expr: Expr): readonly (readonly [Expr, readonly string[]])[] {
  const { exprKind } = expr;
  switch (exprKind.case) {
    case "callExpr": {
      const { target, args, function: name } = exprKind.value;
      return target === undefined
        ? argumentsOf(name, args)
        : [target, ...args].map((arg) => [arg, []]);
    }
    case "selectExpr":
      return exprKind.value.operand === undefined ? [] : [[exprKind.value.operand, []]];
    case "listExpr":
      return exprKind.value.elements.map((element) => [element, []]);
    case "structExpr":
      return exprKind.value.entries.flatMap(({ keyKind, value }) => [
        ...(keyKind.case === "mapKey" ? [[keyKind.value, []] as const] : []),
        ...(value === undefined ? [] : [[value, []] as const]),
      ]);
    case "comprehensionExpr": {
      const macro = readMacro(exprKind.value);
      const test = macro.test === undefined ? [] : [[macro.test, []] as const];
      if (macro.kind !== "map") return [[macro.range, []], ...test];
      return [[macro.range, []], ...test, [macro.step, presentWhen(macro.test, true)]];
    }
    case "constExpr":
    case "identExpr":
    case undefined:
      return [];
  }
}

function argumentsOf(
  name: string,
  args: readonly Expr[],
): readonly (readonly [Expr, readonly string[]])[] {
  const [first, second, third] = args;
  if (first === undefined || second === undefined) return args.map((arg) => [arg, []]);
  if (name === "_&&_" || name === "_||_") {
    const decides = name === "_&&_";
    return [
      [first, presentWhen(second, decides)],
      [second, presentWhen(first, decides)],
    ];
  }
  if (name === "_?_:_" && third !== undefined) {
    return [
      [first, []],
      [second, presentWhen(first, true)],
      [third, presentWhen(first, false)],
    ];
  }
  return args.map((arg) => [arg, []]);
}

/** The keys that are surely present when `expr` has the value `truth`. */
function presentWhen(expr: Expr | undefined, truth: boolean): readonly string[] {
  if (expr?.exprKind.case === "selectExpr") {
    const { operand, field, testOnly } = expr.exprKind.value;
    return truth && testOnly && isHeaders(operand, undefined) ? [JSON.stringify(field)] : [];
  }
  if (expr?.exprKind.case !== "callExpr") return [];
  return presentWhenCall(expr.exprKind.value, truth);
}

function presentWhenCall(call: Expr_Call, truth: boolean): readonly string[] {
  const [first, second] = call.args;
  switch (call.function) {
    case "!_":
      return presentWhen(first, !truth);
    case "@in":
      return truth && isHeaders(second, undefined) ? keyOf(first) : [];
    case "_&&_":
      return truth ? call.args.flatMap((arg) => presentWhen(arg, true)) : [];
    case "_||_":
      return truth ? [] : call.args.flatMap((arg) => presentWhen(arg, false));
    default:
      return [];
  }
}

/** The key by which an expression looks into the header fields, or undefined. */
function accessedKey(expr: Expr): string | undefined {
  if (expr.exprKind.case === "selectExpr") {
    const { operand, field, testOnly } = expr.exprKind.value;
    return !testOnly && isHeaders(operand, undefined) ? JSON.stringify(field) : undefined;
  }
  if (expr.exprKind.case !== "callExpr") return undefined;
  const { function: name, args } = expr.exprKind.value;
  if (name !== "_[_]" || !isHeaders(args[0], undefined)) return undefined;
  return keyOf(args[1])[0] ?? "";
}

/** A key that can be told again: a constant, or the variable of a macro. */
function keyOf(expr: Expr | undefined): readonly string[] {
  if (expr?.exprKind.case === "identExpr") return [expr.exprKind.value.name];
  const literal = stringLiteral(expr);
  return literal === undefined ? [] : [JSON.stringify(literal)];
}

function describe(expr: Expr, places: Places): UnguardedAccess {
  const key = accessedKey(expr);
  const isConstant = key?.startsWith('"') === true;
  return {
    ...places.ofMember(expr),
    access: `request.headers[${key === undefined || key === "" ? "…" : key}]`,
    key: isConstant ? String(JSON.parse(key)) : undefined,
  };
}
