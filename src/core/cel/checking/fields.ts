import type { Expr, Expr_Select } from "@bufbuild/cel-spec/cel/expr/syntax_pb.js";
import { nearest } from "../../nearest.ts";
import {
  findVariable,
  type Inference,
  isHeaders,
  report,
  type Scope,
  stringLiteral,
} from "./inference.ts";
import type { Place } from "./places.ts";
import { BOOL, type ObjectType, STRING, type Type, typeName, UNKNOWN } from "./types.ts";

/** The type of `operand.field`, or of `has(operand.field)`. */
export function inferSelect(
  expr: Expr,
  select: Expr_Select,
  scope: Scope | undefined,
  inference: Inference,
): Type {
  const { operand, field, testOnly } = select;
  if (operand === undefined) throw new Error("a field of nothing");
  const place = inference.places.ofMember(expr);
  const type = isHeaders(operand, scope)
    ? headerType(field, place, inference)
    : memberType(inference.infer(operand, scope), field, place, inference);
  return testOnly ? BOOL : type;
}

/** The type of `operand[key]` where `operand` is a named input; undefined where it is a value. */
export function inferInputIndex(
  args: readonly Expr[],
  scope: Scope | undefined,
  inference: Inference,
): Type | undefined {
  const [operand, key] = args;
  if (operand === undefined || key === undefined) return undefined;
  const name = stringLiteral(key);
  if (isHeaders(operand, scope)) {
    if (name !== undefined) return headerType(name, inference.places.of(key), inference);
    inference.reads.add("request.headers");
    return expectKey(inference.inferValue(key, scope), key, inference);
  }
  if (operand.exprKind.case !== "identExpr") return undefined;
  const type = inference.infer(operand, scope);
  if (type.kind !== "object") return undefined;
  if (name !== undefined) return memberType(type, name, inference.places.of(key), inference);
  const message = `fields of \`${type.name}\` are named by a constant`;
  report(inference, inference.places.of(key), message);
  return UNKNOWN;
}

/** The name of the set that an expression is, or undefined. */
export function setName(expr: Expr, scope: Scope | undefined): string | undefined {
  const [operand, name] = memberOf(expr);
  if (operand?.exprKind.case !== "identExpr" || operand.exprKind.value.name !== "sets") {
    return undefined;
  }
  return findVariable(scope, "sets") === undefined ? name : undefined;
}

/** `operand.name` or `operand["name"]`. */
function memberOf({
  exprKind,
}: Expr): readonly [operand: Expr | undefined, name: string | undefined] {
  if (exprKind.case === "selectExpr") return [exprKind.value.operand, exprKind.value.field];
  if (exprKind.case !== "callExpr" || exprKind.value.function !== "_[_]") {
    return [undefined, undefined];
  }
  const [operand, key] = exprKind.value.args;
  return [operand, stringLiteral(key)];
}

function expectKey(type: Type, key: Expr, inference: Inference): Type {
  if (type.kind !== "string" && type.kind !== "unknown") {
    const message = `header fields are named by a string; this is ${typeName(type)}`;
    report(inference, inference.places.of(key), message);
  }
  return STRING;
}

/** Notes that a header field is read by its name. */
export function headerType(name: string, place: Place, inference: Inference): Type {
  const right = name.toLowerCase();
  if (name !== right) {
    const message = `header names are lower-case here; write \`request.headers["${right}"]\``;
    report(inference, place, message);
  }
  inference.reads.add(`request.headers.${right}`);
  return STRING;
}

function memberType(type: Type, field: string, place: Place, inference: Inference): Type {
  if (type.kind === "unknown") return UNKNOWN;
  if (type.kind === "map" && (type.key.kind === "string" || type.key.kind === "unknown")) {
    return type.value;
  }
  if (type.kind !== "object") {
    report(inference, place, `${typeName(type)} has no field \`${field}\``);
    return UNKNOWN;
  }
  const member = type.fields.get(field);
  if (member === undefined) {
    report(inference, place, unknownField(type, field));
    return UNKNOWN;
  }
  inference.reads.add(`${type.name}.${field}`);
  return member;
}

function unknownField(object: ObjectType, field: string): string {
  const right = nearest(field, object.fields.keys());
  const subject =
    object.name === "sets"
      ? `unknown set \`${field}\``
      : `unknown field \`${object.name}.${field}\``;
  if (right !== undefined) return `${subject}; did you mean \`${object.name}.${right}\`?`;
  if (object.fields.size === 0) return `${subject}; the policy has no \`sets\``;
  const names = [...object.fields.keys()].map((name) => `\`${name}\``);
  return `${subject}; \`${object.name}\` has ${names.slice(0, 12).join(", ")}`;
}

/**
 * The way to write a name with a dash that was read as a subtraction: `request.headers.x-a`, or
 * `sets.my-set` where there is such a set. Undefined when it is a subtraction.
 */
export function dashedName(
  expr: Expr,
  scope: Scope | undefined,
  inference: Inference,
): string | undefined {
  const parts: string[] = [];
  let current: Expr | undefined = expr;
  while (current?.exprKind.case === "callExpr" && current.exprKind.value.function === "_-_") {
    const [left, right]: readonly Expr[] = current.exprKind.value.args;
    const part = firstWord(right, scope);
    if (part === undefined) return undefined;
    parts.unshift(part);
    current = left;
  }
  if (current?.exprKind.case !== "selectExpr") return undefined;
  const { operand, field } = current.exprKind.value;
  const name = [field, ...parts].join("-");
  if (isHeaders(operand, scope)) return `request.headers["${name.toLowerCase()}"]`;
  const isSets = operand?.exprKind.case === "identExpr" && operand.exprKind.value.name === "sets";
  const sets = inference.environment.objects.get("sets");
  return isSets && sets?.fields.has(name) === true ? `sets["${name}"]` : undefined;
}

/** The word with which the text of an expression starts: a name that nothing declares, or a number. */
function firstWord(expr: Expr | undefined, scope: Scope | undefined): string | undefined {
  const exprKind = expr?.exprKind;
  switch (exprKind?.case) {
    case "identExpr":
      return findVariable(scope, exprKind.value.name) === undefined
        ? exprKind.value.name
        : undefined;
    case "selectExpr":
      return firstWord(exprKind.value.operand, scope);
    case "callExpr":
      return firstWord(exprKind.value.target, scope);
    case "comprehensionExpr":
      return firstWord(exprKind.value.iterRange, scope);
    case "constExpr": {
      const { constantKind } = exprKind.value;
      return constantKind.case === "int64Value" ? String(constantKind.value) : undefined;
    }
    case "listExpr":
    case "structExpr":
    case undefined:
      return undefined;
  }
}
