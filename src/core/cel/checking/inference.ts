import type { Expr } from "@bufbuild/cel-spec/cel/expr/syntax_pb.js";
import type { CelEnvironment } from "../environment.ts";
import type { ExpressionFault, Place, Places } from "./places.ts";
import type { Type } from "./types.ts";

/** The variables of the macros around an expression, the innermost first. */
export interface Scope {
  readonly variable: string;
  readonly type: Type;
  /** The set that it runs over, where it does. */
  readonly set: string | undefined;
  readonly outer: Scope | undefined;
}

/** What one run of the type checker knows and gathers. */
export interface Inference {
  readonly environment: CelEnvironment;
  readonly places: Places;
  readonly faults: ExpressionFault[];
  readonly reads: Set<string>;
  /** The type of an expression, which may be one of the named objects. */
  readonly infer: (expr: Expr, scope: Scope | undefined) => Type;
  /** The type of an expression that must be a value; a named object is a fault. */
  readonly inferValue: (expr: Expr, scope: Scope | undefined) => Type;
}

/** Notes a fault. */
export function report(inference: Inference, place: Place, message: string): void {
  inference.faults.push({ ...place, message });
}

/** The variable of a macro by this name, the innermost one. */
export function findVariable(scope: Scope | undefined, name: string): Scope | undefined {
  let current = scope;
  while (current !== undefined && current.variable !== name) current = current.outer;
  return current;
}

/** The value of a string literal, or undefined. */
export function stringLiteral(expr: Expr | undefined): string | undefined {
  if (expr?.exprKind.case !== "constExpr") return undefined;
  const { constantKind } = expr.exprKind.value;
  return constantKind.case === "stringValue" ? constantKind.value : undefined;
}

/** Whether an expression is `object.field` of the named inputs, not of a macro's variable. */
export function isInput(
  expr: Expr | undefined,
  object: string,
  field: string,
  scope: Scope | undefined,
): boolean {
  if (expr?.exprKind.case !== "selectExpr") return false;
  const { operand, field: selected, testOnly } = expr.exprKind.value;
  if (selected !== field || testOnly || operand?.exprKind.case !== "identExpr") return false;
  return operand.exprKind.value.name === object && findVariable(scope, object) === undefined;
}

/** Whether an expression is the map of header fields. */
export function isHeaders(expr: Expr | undefined, scope: Scope | undefined): boolean {
  return isInput(expr, "request", "headers", scope);
}
