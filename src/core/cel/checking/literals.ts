import type { Expr } from "@bufbuild/cel-spec/cel/expr/syntax_pb.js";
import { VERIFICATIONS } from "../../bot/bot.ts";
import { parseCidr } from "../../cidr.ts";
import { nearest } from "../../nearest.ts";
import { findPatternFault } from "../patterns.ts";
import { headerType } from "./fields.ts";
import {
  findVariable,
  type Inference,
  isInput,
  report,
  type Scope,
  stringLiteral,
} from "./inference.ts";

/** Finds faults in the literals of a call: patterns, blocks of addresses, outcomes, header names. */
export function checkLiterals(
  name: string,
  args: readonly Expr[],
  scope: Scope | undefined,
  inference: Inference,
): void {
  const [first, second] = args;
  switch (name) {
    case "matches":
      checkPattern(second, inference);
      return;
    case "inCidr":
      checkCidr(second, scope, inference);
      return;
    case "header":
      noteHeader(first, inference);
      return;
    case "_==_":
    case "_!=_":
      checkOutcomes(args, [second, first], scope, inference);
      return;
    case "@in":
      checkOutcomes([first], elementsOf(second), scope, inference);
      return;
  }
}

/** Where one of `subjects` is `bot.verification`, `others` are outcomes. */
function checkOutcomes(
  subjects: readonly (Expr | undefined)[],
  others: readonly (Expr | undefined)[],
  scope: Scope | undefined,
  inference: Inference,
): void {
  if (!subjects.some((subject) => isInput(subject, "bot", "verification", scope))) return;
  for (const other of others) checkOutcome(other, inference);
}

function elementsOf(expr: Expr | undefined): readonly Expr[] {
  return expr?.exprKind.case === "listExpr" ? expr.exprKind.value.elements : [];
}

function checkPattern(expr: Expr | undefined, inference: Inference): void {
  if (expr === undefined) return;
  const pattern = stringLiteral(expr);
  const place = inference.places.of(expr);
  if (pattern === undefined) {
    report(inference, place, "a regular expression must be a constant text");
    return;
  }
  const fault = findPatternFault(pattern);
  if (fault !== undefined) report(inference, place, `\`${pattern}\` ${fault}`);
}

function checkCidr(expr: Expr | undefined, scope: Scope | undefined, inference: Inference): void {
  if (expr === undefined) return;
  const text = stringLiteral(expr);
  if (text !== undefined) checkBlock(text, "", expr, inference);
  if (expr.exprKind.case !== "identExpr") return;
  const name = findVariable(scope, expr.exprKind.value.name)?.set;
  if (name === undefined) return;
  for (const item of inference.environment.sets.get(name) ?? []) {
    if (typeof item === "string") checkBlock(item, ` of \`sets.${name}\``, expr, inference);
  }
}

function checkBlock(text: string, origin: string, expr: Expr, inference: Inference): void {
  const result = parseCidr(text);
  if (result.kind === "cidr") return;
  report(inference, inference.places.of(expr), `\`${text}\`${origin} ${result.reason}`);
}

function noteHeader(expr: Expr | undefined, inference: Inference): void {
  if (expr === undefined) return;
  const name = stringLiteral(expr);
  if (name === undefined) inference.reads.add("request.headers");
  else headerType(name.toLowerCase(), inference.places.of(expr), inference);
}

function checkOutcome(expr: Expr | undefined, inference: Inference): void {
  const outcome = stringLiteral(expr);
  if (expr === undefined || outcome === undefined) return;
  if (VERIFICATIONS.some((known) => known === outcome)) return;
  const right = nearest(outcome, VERIFICATIONS);
  const known = VERIFICATIONS.map((word) => `\`${word}\``).join(", ");
  const remedy = right === undefined ? `outcomes are ${known}` : `did you mean \`${right}\`?`;
  const message = `\`bot.verification\` is never \`${outcome}\`; ${remedy}`;
  report(inference, inference.places.of(expr), message);
}
