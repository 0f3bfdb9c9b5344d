import type { Expr } from "@bufbuild/cel-spec/cel/expr/syntax_pb.js";

/** An expression and every part of it, outer parts first; macros as the parser expanded them. */
export function* everyPart(expr: Expr): Generator<Expr> {
  yield expr;
  for (const part of partsOf(expr)) yield* everyPart(part);
}

/** Whether an expression has parts within parts beyond a limit; looks no deeper than that. */
export function isDeeperThan(limit: number, expr: Expr): boolean {
  return limit === 0 || partsOf(expr).some((part) => isDeeperThan(limit - 1, part));
}

function partsOf(expr: Expr): readonly Expr[] {
  const { exprKind } = expr;
  switch (exprKind.case) {
    case "selectExpr":
      return present([exprKind.value.operand]);
    case "callExpr":
      return present([exprKind.value.target, ...exprKind.value.args]);
    case "listExpr":
      return exprKind.value.elements;
    case "structExpr":
      return present(
        exprKind.value.entries.flatMap(({ keyKind, value }) => [
          keyKind.case === "mapKey" ? keyKind.value : undefined,
          value,
        ]),
      );
    case "comprehensionExpr": {
      const { iterRange, accuInit, loopCondition, loopStep, result } = exprKind.value;
      return present([iterRange, accuInit, loopCondition, loopStep, result]);
    }
    case "constExpr":
    case "identExpr":
    case undefined:
      return [];
  }
}

function present(exprs: readonly (Expr | undefined)[]): readonly Expr[] {
  return exprs.filter((expr) => expr !== undefined);
}
