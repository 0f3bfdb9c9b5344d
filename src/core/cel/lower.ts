import { type CelResult, type CelValue, celUint, isCelError } from "@bufbuild/cel";
import type { Constant, Expr, Expr_Call } from "@bufbuild/cel-spec/cel/expr/syntax_pb.js";
import { readCall } from "./checking/calls.ts";
import { stringLiteral } from "./checking/inference.ts";
import type { CelEnvironment } from "./environment.ts";
import { call, choice, every, list, lookup, resultTerm, some } from "./fold.ts";
import { loop } from "./fold-loop.ts";
import { readMacro } from "./macros.ts";
import { everyPart } from "./parts.ts";
import { type Binder, planExpression } from "./reference.ts";
import {
  type BotField,
  Failure,
  NEEDS_BOT,
  NEEDS_REQUEST,
  type RequestField,
  slotBit,
  type Term,
  valueTerm,
} from "./term.ts";

/** What a policy knows before there is any request. */
export interface PolicyKnowledge {
  readonly environment: CelEnvironment;
  readonly site: ReadonlyMap<string, string>;
  /** Makes the inputs of parts that are left to the reference evaluator. */
  readonly bind: Binder;
}

interface Scope {
  readonly variable: string;
  readonly slot: number;
  readonly outer: Scope | undefined;
}

/** A checked condition as a term, with all folded that the policy alone knows. */
export function lower(ast: Expr, knowledge: PolicyKnowledge): Term {
  return lowerExpr(ast, undefined, knowledge);
}

function lowerExpr(expr: Expr, scope: Scope | undefined, knowledge: PolicyKnowledge): Term {
  const { exprKind } = expr;
  switch (exprKind.case) {
    case "constExpr":
      return lowerConstant(exprKind.value);
    case "identExpr":
      return lowerVariable(exprKind.value.name, scope);
    case "selectExpr": {
      const { operand, field, testOnly } = exprKind.value;
      if (operand === undefined) throw new Error("a field of nothing");
      return lowerMember(operand, field, testOnly, scope, knowledge);
    }
    case "callExpr":
      return lowerCall(exprKind.value, scope, knowledge);
    case "listExpr":
      return list(exprKind.value.elements.map((it) => lowerExpr(it, scope, knowledge)));
    case "structExpr":
      return lowerForeign(expr, scope, knowledge);
    case "comprehensionExpr":
      return lowerMacro(readMacro(exprKind.value), scope, knowledge);
    case undefined:
      throw new Error("the parser left an expression empty");
  }
}

function lowerConstant({ constantKind }: Constant): Term {
  switch (constantKind.case) {
    case "uint64Value":
      return valueTerm(celUint(constantKind.value));
    case "boolValue":
    case "stringValue":
    case "doubleValue":
    case "int64Value":
      return valueTerm(constantKind.value);
    case "nullValue":
    case "bytesValue":
    case "durationValue":
    case "timestampValue":
    case undefined:
      throw new Error(`a constant of kind ${constantKind.case} passed the type checker`);
  }
}

function findScope(scope: Scope | undefined, name: string): Scope | undefined {
  let current = scope;
  while (current !== undefined && current.variable !== name) current = current.outer;
  return current;
}

function lowerVariable(name: string, scope: Scope | undefined): Term {
  const found = findScope(scope, name);
  if (found === undefined) throw new Error(`the name \`${name}\` passed the type checker`);
  return { kind: "variable", slot: found.slot, needs: slotBit(found.slot), mayFail: false };
}

function lowerMember(
  operand: Expr,
  field: string,
  testOnly: boolean,
  scope: Scope | undefined,
  knowledge: PolicyKnowledge,
): Term {
  const kind = testOnly ? "has" : "lookup";
  if (operand.exprKind.case === "identExpr") {
    const { name } = operand.exprKind.value;
    if (findScope(scope, name) === undefined) {
      return testOnly ? valueTerm(true) : lowerInput(name, field, knowledge);
    }
  }
  return lookup(kind, lowerExpr(operand, scope, knowledge), valueTerm(field));
}

const BOT_FIELDS: ReadonlyMap<string, BotField> = new Map(
  (
    [
      "id",
      "name",
      "class",
      "operator",
      "claimed",
      "verified",
      "verification",
      "verifiable",
    ] as const
  ).map((field) => [field, field]),
);

const REQUEST_FIELDS: ReadonlyMap<string, RequestField> = new Map(
  (["host", "method", "path", "raw_path", "query", "scheme", "ip", "user_agent"] as const).map(
    (field) => [field, field],
  ),
);

function lowerInput(object: string, field: string, knowledge: PolicyKnowledge): Term {
  switch (object) {
    case "bot":
      return field === "by_ip" ? BY_IP : botTerm(field);
    case "labels":
      return field === "bot_id" ? botTerm("id") : requestTerm(field);
    case "request":
      return requestTerm(field);
    case "site":
      return valueTerm(knowledge.site.get(field) ?? "");
    case "sets": {
      const list = knowledge.environment.setLists.get(field);
      if (list !== undefined) return valueTerm(list);
      throw new Error(`the set \`${field}\` passed the type checker`);
    }
    default:
      throw new Error(`the name \`${object}\` passed the type checker`);
  }
}

/** A field of `bot` in the text of a rule, and of the request in what it depends on. */
const BY_IP: Term = { kind: "input", field: "by_ip", needs: NEEDS_REQUEST, mayFail: false };

function botTerm(name: string): Term {
  const field = BOT_FIELDS.get(name);
  if (field === undefined) throw new Error(`\`bot.${name}\` passed the type checker`);
  return { kind: "bot", field, needs: NEEDS_BOT, mayFail: false };
}

function requestTerm(name: string): Term {
  if (name === "headers") return { kind: "headers", needs: NEEDS_REQUEST, mayFail: false };
  const field = REQUEST_FIELDS.get(name);
  if (field === undefined) throw new Error(`\`request.${name}\` passed the type checker`);
  return { kind: "input", field, needs: NEEDS_REQUEST, mayFail: false };
}

function lowerCall(expr: Expr_Call, scope: Scope | undefined, knowledge: PolicyKnowledge): Term {
  const { name, args, isMethod } = readCall(expr);
  const [first, second] = args;
  if (name === "_[_]" && first !== undefined && second !== undefined) {
    const key = stringLiteral(second);
    if (key !== undefined) return lowerMember(first, key, false, scope, knowledge);
  }
  const terms = args.map((arg) => lowerExpr(arg, scope, knowledge));
  return applyOperator(name, terms) ?? call(name, isMethod, terms);
}

/** The operators that do not evaluate all their arguments first, and look-ups. */
function applyOperator(name: string, terms: readonly Term[]): Term | undefined {
  if (name === "_&&_") return every(terms);
  if (name === "_||_") return some(terms);
  const [one, two, three] = terms;
  if (one === undefined || two === undefined) return undefined;
  if (name === "_[_]") return lookup("lookup", one, two);
  return name === "_?_:_" && three !== undefined ? choice(one, two, three) : undefined;
}

function lowerMacro(
  macro: ReturnType<typeof readMacro>,
  scope: Scope | undefined,
  knowledge: PolicyKnowledge,
): Term {
  const slot = scope === undefined ? 0 : scope.slot + 1;
  const inner: Scope = { variable: macro.variable, slot, outer: scope };
  const { test } = macro;
  return loop({
    macro: macro.kind,
    range: lowerExpr(macro.range, scope, knowledge),
    slot,
    test: test === undefined ? undefined : lowerExpr(test, inner, knowledge),
    step: macro.kind === "map" ? lowerExpr(macro.step, inner, knowledge) : undefined,
  });
}

/** A map literal: left to the reference evaluator, once and for all where it is constant. */
function lowerForeign(expr: Expr, scope: Scope | undefined, knowledge: PolicyKnowledge): Term {
  const plan = planExpression(expr);
  if (![...everyPart(expr)].some(readsInput)) {
    return resultTerm(valueOrFailure(plan({})));
  }
  const variables: [string, number][] = [];
  let needs = NEEDS_BOT | NEEDS_REQUEST;
  for (let outer = scope; outer !== undefined; outer = outer.outer) {
    if (findScope(scope, outer.variable) !== outer) continue;
    variables.push([outer.variable, outer.slot]);
    needs |= slotBit(outer.slot);
  }
  return {
    kind: "foreign",
    reason: "a map literal",
    run: (bot, request, path, bound) =>
      valueOrFailure(plan({ ...knowledge.bind(bot, request, path), ...bound })),
    variables,
    bot: undefined,
    needs,
    mayFail: true,
  };
}

function readsInput({ exprKind }: Expr): boolean {
  if (exprKind.case === "identExpr") return true;
  return exprKind.case === "callExpr" && exprKind.value.function === "header";
}

function valueOrFailure(result: CelResult): CelValue | Failure {
  return isCelError(result) ? new Failure(result.message) : result;
}
