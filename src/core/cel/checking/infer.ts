import type { Constant, Expr, Expr_CreateStruct } from "@bufbuild/cel-spec/cel/expr/syntax_pb.js";
import { nearest } from "../../nearest.ts";
import type { CelEnvironment } from "../environment.ts";
import { type Macro, readMacro } from "../macros.ts";
import { inferCall } from "./calls.ts";
import { inferSelect, setName } from "./fields.ts";
import { findVariable, type Inference, report, type Scope } from "./inference.ts";
import type { ExpressionFault, Places } from "./places.ts";
import {
  BOOL,
  commonType,
  DOUBLE,
  INT,
  listOf,
  mapOf,
  STRING,
  type Type,
  typeName,
  UINT,
  UNKNOWN,
} from "./types.ts";

/** Type-checks a condition: every fault of it, and the inputs that it reads. */
export function inferCondition(
  ast: Expr,
  places: Places,
  environment: CelEnvironment,
): { readonly faults: readonly ExpressionFault[]; readonly reads: ReadonlySet<string> } {
  const inference: Inference = {
    environment,
    places,
    faults: [],
    reads: new Set(),
    infer: (expr, scope) => infer(expr, scope, inference),
    inferValue: (expr, scope) => inferValue(expr, scope, inference),
  };
  expectBool(ast, undefined, inference, "a condition");
  return { faults: inference.faults, reads: inference.reads };
}

function infer(expr: Expr, scope: Scope | undefined, inference: Inference): Type {
  const { exprKind } = expr;
  switch (exprKind.case) {
    case "constExpr":
      return inferConstant(expr, exprKind.value, inference);
    case "identExpr":
      return inferName(expr, exprKind.value.name, scope, inference);
    case "selectExpr":
      return inferSelect(expr, exprKind.value, scope, inference);
    case "callExpr":
      return inferCall(expr, exprKind.value, scope, inference);
    case "listExpr": {
      const { elements } = exprKind.value;
      return listOf(inferAlike(elements, scope, inference, "the elements of a list"));
    }
    case "structExpr":
      return inferMap(expr, exprKind.value, scope, inference);
    case "comprehensionExpr":
      return inferMacro(expr, readMacro(exprKind.value), scope, inference);
    case undefined:
      throw new Error("the parser left an expression empty");
  }
}

function inferValue(expr: Expr, scope: Scope | undefined, inference: Inference): Type {
  const type = infer(expr, scope, inference);
  if (type.kind !== "object") return type;
  const fields = [...type.fields.keys()].map((field) => `\`${type.name}.${field}\``);
  const remedy = fields.length === 0 ? "" : `; name one of ${fields.slice(0, 8).join(", ")}`;
  report(inference, inference.places.of(expr), `\`${type.name}\` is not a value${remedy}`);
  return UNKNOWN;
}

const MAX_INT = 2n ** 63n - 1n;
const MIN_INT = -(2n ** 63n);
const MAX_UINT = 2n ** 64n - 1n;

function inferConstant(expr: Expr, constant: Constant, inference: Inference): Type {
  const fault = (message: string) => {
    report(inference, inference.places.of(expr), message);
    return UNKNOWN;
  };
  const { constantKind } = constant;
  switch (constantKind.case) {
    case "boolValue":
      return BOOL;
    case "stringValue":
      return STRING;
    case "doubleValue":
      return DOUBLE;
    case "int64Value": {
      const { value } = constantKind;
      return value >= MIN_INT && value <= MAX_INT ? INT : fault(`\`${value}\` is not a 64-bit int`);
    }
    case "uint64Value": {
      const { value } = constantKind;
      return value <= MAX_UINT ? UINT : fault(`\`${value}u\` is not a 64-bit uint`);
    }
    case "nullValue":
      return fault("`null` is not supported; no input is ever null");
    case "bytesValue":
    case "durationValue":
    case "timestampValue":
    case undefined:
      return fault("bytes are not supported; write a string without the `b`");
  }
}

function inferName(expr: Expr, name: string, scope: Scope | undefined, inference: Inference): Type {
  const variable = findVariable(scope, name);
  if (variable !== undefined) return variable.type;
  const { objects } = inference.environment;
  const object = objects.get(name);
  if (object !== undefined) return object;
  const candidates = [...objects.keys()];
  for (let outer = scope; outer !== undefined; outer = outer.outer) candidates.push(outer.variable);
  const right = nearest(name, candidates);
  const remedy =
    right === undefined ? `names are ${quoted(candidates)}` : `did you mean \`${right}\`?`;
  report(inference, inference.places.of(expr), `unknown name \`${name}\`; ${remedy}`);
  return UNKNOWN;
}

function quoted(words: readonly string[]): string {
  return words.map((word) => `\`${word}\``).join(", ");
}

/** The one type of several expressions; a fault at the first that differs. */
function inferAlike(
  exprs: readonly Expr[],
  scope: Scope | undefined,
  inference: Inference,
  what: string,
): Type {
  let common = UNKNOWN;
  for (const expr of exprs) {
    const type = inferValue(expr, scope, inference);
    const next = commonType(common, type);
    if (next === undefined) {
      const message = `${what} are of one type; this is ${typeName(type)}, the first is ${typeName(common)}`;
      report(inference, inference.places.of(expr), message);
    } else {
      common = next;
    }
  }
  return common;
}

function inferMap(
  expr: Expr,
  struct: Expr_CreateStruct,
  scope: Scope | undefined,
  inference: Inference,
): Type {
  if (struct.messageName !== "") {
    const message = `messages such as \`${struct.messageName}{…}\` are not supported`;
    report(inference, inference.places.of(expr), message);
    return UNKNOWN;
  }
  const keys = struct.entries.flatMap(({ keyKind }) =>
    keyKind.case === "mapKey" ? [keyKind.value] : [],
  );
  const values = struct.entries.flatMap(({ value }) => (value === undefined ? [] : [value]));
  const key = inferAlike(keys, scope, inference, "the keys of a map");
  if (!["bool", "int", "uint", "string", "unknown"].includes(key.kind)) {
    const message = `the keys of a map are string, int, uint or bool; this is ${typeName(key)}`;
    report(inference, inference.places.of(keys[0] ?? expr), message);
  }
  return mapOf(key, inferAlike(values, scope, inference, "the values of a map"));
}

function inferMacro(
  expr: Expr,
  macro: Macro,
  scope: Scope | undefined,
  inference: Inference,
): Type {
  const range = inferValue(macro.range, scope, inference);
  const type = itemType(range);
  if (type === undefined) {
    const message = `\`${macro.kind}\` runs over a list or a map; this is ${typeName(range)}`;
    report(inference, inference.places.ofMember(expr), message);
  }
  const inner: Scope = {
    variable: macro.variable,
    type: type ?? UNKNOWN,
    set: setName(macro.range, scope),
    outer: scope,
  };
  if (macro.test !== undefined) {
    const name = macro.kind === "map" ? "filter" : macro.kind;
    expectBool(macro.test, inner, inference, `the condition of \`${name}\``);
  }
  return macro.kind === "map" ? listOf(inferValue(macro.step, inner, inference)) : BOOL;
}

function itemType(range: Type): Type | undefined {
  switch (range.kind) {
    case "list":
      return range.element;
    case "map":
      return range.key;
    case "unknown":
      return UNKNOWN;
    case "bool":
    case "int":
    case "uint":
    case "double":
    case "string":
    case "object":
    case "parameter":
      return undefined;
  }
}

function expectBool(
  expr: Expr,
  scope: Scope | undefined,
  inference: Inference,
  what: string,
): void {
  const type = inferValue(expr, scope, inference);
  if (type.kind === "bool" || type.kind === "unknown") return;
  const message = `${what} is true or false; this is ${typeName(type)}`;
  report(inference, inference.places.of(expr), message);
}
