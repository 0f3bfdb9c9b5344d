import type {
  Expr,
  Expr_CreateStruct,
  Expr_Select,
} from "@bufbuild/cel-spec/cel/expr/syntax_pb.js";
import type { CelEnvironment } from "../environment.ts";
import { type Macro, readMacro } from "../macros.ts";
import { MAX_MACRO_DEPTH } from "../term.ts";
import {
  CLIENT_TEXT,
  type Estimate,
  estimateCall,
  SCALAR,
  type Size,
  textSize,
} from "./call-cost.ts";
import { readCall } from "./calls.ts";
import { stringLiteral } from "./inference.ts";

/**
 * Most steps that one evaluation of a condition may take, for a client that sends the longest path
 * and header fields. A step is about 50 ns: the limit is some 50 ms, which no honest rule is near.
 */
const MAX_STEPS = 1_000_000;

/** Texts that a client cannot make long, or only so long (a host name, an address, a method). */
const BOUNDED_TEXT = 255;
const BOUNDED_FIELDS: ReadonlySet<string> = new Set(["host", "method", "scheme", "ip"]);
/** Header fields that a request may hold. */
const HEADER_FIELDS = 200;

interface Scope {
  readonly variable: string;
  readonly size: Size;
  readonly depth: number;
  readonly outer: Scope | undefined;
}

/** What is too costly in a condition, as a message; undefined when nothing is. */
export function findCostFault(ast: Expr, environment: CelEnvironment): string | undefined {
  const { steps } = estimate(ast, undefined, environment);
  if (steps <= MAX_STEPS) return undefined;
  const count = Number.isFinite(steps) ? Math.round(steps).toLocaleString("en") : "endlessly many";
  const limit = MAX_STEPS.toLocaleString("en");
  return `may take ${count} steps for one request, and the limit is ${limit}; use smaller sets, fewer macros within macros, or constants where two texts of the client meet`;
}

function estimate(expr: Expr, scope: Scope | undefined, environment: CelEnvironment): Estimate {
  const { exprKind } = expr;
  switch (exprKind.case) {
    case "constExpr":
      return { ...textSize(stringLiteral(expr)?.length ?? 1), steps: 0 };
    case "identExpr":
      return { ...(findSize(scope, exprKind.value.name) ?? SCALAR), steps: 1 };
    case "selectExpr":
      return estimateSelect(exprKind.value, scope, environment);
    case "callExpr": {
      const { name, args } = readCall(exprKind.value);
      return estimateArguments(name, args, scope, environment);
    }
    case "listExpr":
      return estimateItems(exprKind.value.elements, scope, environment);
    case "structExpr":
      return estimateItems(membersOf(exprKind.value), scope, environment);
    case "comprehensionExpr":
      return estimateMacro(readMacro(exprKind.value), scope, environment);
    case undefined:
      return { ...SCALAR, steps: 0 };
  }
}

function findSize(scope: Scope | undefined, name: string): Size | undefined {
  let current = scope;
  while (current !== undefined && current.variable !== name) current = current.outer;
  return current?.size;
}

function estimateSelect(
  { operand, field }: Expr_Select,
  scope: Scope | undefined,
  environment: CelEnvironment,
): Estimate {
  if (operand === undefined) return { ...SCALAR, steps: 0 };
  const size = inputSize(operand, field, scope, environment);
  if (size !== undefined) return { ...size, steps: 1 };
  const container = estimate(operand, scope, environment);
  return { ...textSize(container.item), steps: container.steps + 2 };
}

/** How long a named input can be; undefined where the operand is a value. */
function inputSize(
  operand: Expr,
  field: string,
  scope: Scope | undefined,
  environment: CelEnvironment,
): Size | undefined {
  if (operand.exprKind.case !== "identExpr") return undefined;
  const { name } = operand.exprKind.value;
  if (findSize(scope, name) !== undefined) return undefined;
  if (name === "sets") return setSize(environment.sets.get(field) ?? []);
  if (field === "headers") {
    return { length: HEADER_FIELDS, item: CLIENT_TEXT, total: HEADER_FIELDS * 32 };
  }
  const isOurs = name === "bot" || name === "site" || field === "bot_id";
  return textSize(isOurs || BOUNDED_FIELDS.has(field) ? BOUNDED_TEXT : CLIENT_TEXT);
}

function setSize(items: readonly string[] | readonly bigint[]): Size {
  let item = 1;
  let total = 0;
  for (const each of items) {
    const length = typeof each === "string" ? each.length : 1;
    item = Math.max(item, length);
    total += length;
  }
  return { length: items.length, item, total };
}

function estimateArguments(
  name: string,
  args: readonly Expr[],
  scope: Scope | undefined,
  environment: CelEnvironment,
): Estimate {
  const [first, second] = args;
  if (name === "_[_]" && first !== undefined) {
    const key = stringLiteral(second);
    const size = key === undefined ? undefined : inputSize(first, key, scope, environment);
    if (size !== undefined) return { ...size, steps: 1 };
  }
  const parts = args.map((arg) => estimate(arg, scope, environment));
  const steps = sum(parts.map((part) => part.steps));
  if (name === "_?_:_") return { ...largest(parts.slice(1)), steps: steps + 1 };
  const own = estimateCall(name, parts, stringLiteral(args.at(-1)));
  return { ...own, steps: steps + own.steps };
}

function largest(sizes: readonly Size[]): Size {
  return {
    length: Math.max(...sizes.map((size) => size.length)),
    item: Math.max(...sizes.map((size) => size.item)),
    total: Math.max(...sizes.map((size) => size.total)),
  };
}

function estimateItems(
  items: readonly Expr[],
  scope: Scope | undefined,
  environment: CelEnvironment,
): Estimate {
  const parts = items.map((item) => estimate(item, scope, environment));
  return {
    length: parts.length,
    item: Math.max(1, ...parts.map((part) => part.length)),
    total: sum(parts.map((part) => part.length)),
    steps: sum(parts.map((part) => part.steps)) + parts.length,
  };
}

function membersOf(struct: Expr_CreateStruct): readonly Expr[] {
  return struct.entries.flatMap(({ keyKind, value }) => [
    ...(keyKind.case === "mapKey" ? [keyKind.value] : []),
    ...(value === undefined ? [] : [value]),
  ]);
}

function estimateMacro(
  macro: Macro,
  scope: Scope | undefined,
  environment: CelEnvironment,
): Estimate {
  const range = estimate(macro.range, scope, environment);
  const depth = (scope?.depth ?? 0) + 1;
  if (depth > MAX_MACRO_DEPTH) return { ...SCALAR, steps: Number.POSITIVE_INFINITY };
  // The average item: what all items cost together is as if each were of that length.
  const size = textSize(range.total / Math.max(1, range.length));
  const inner: Scope = { variable: macro.variable, size, depth, outer: scope };
  const none: Estimate = { ...SCALAR, steps: 0 };
  const test = macro.test === undefined ? none : estimate(macro.test, inner, environment);
  const step = macro.kind === "map" ? estimate(macro.step, inner, environment) : none;
  const steps = range.steps + range.length * (1 + test.steps + step.steps);
  if (macro.kind !== "map") return { ...SCALAR, steps };
  const item = Math.max(step.length, range.item);
  return { length: range.length, item, total: range.length * step.length, steps };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
