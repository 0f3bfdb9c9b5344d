import type { Expr, Expr_Comprehension } from "@bufbuild/cel-spec/cel/expr/syntax_pb.js";

/** A macro of CEL, read back from what the parser made of it. `filter` is a `map` with a test. */
export type Macro =
  | {
      readonly kind: "exists" | "all" | "exists_one";
      readonly range: Expr;
      readonly variable: string;
      readonly test: Expr;
    }
  | {
      readonly kind: "map";
      readonly range: Expr;
      readonly variable: string;
      readonly test: Expr | undefined;
      readonly step: Expr;
    };

/** The macro behind a comprehension; a policy's author cannot write any other comprehension. */
export function readMacro(comprehension: Expr_Comprehension): Macro {
  const { iterRange, iterVar, loopStep, accuInit } = comprehension;
  const step = callOf(loopStep);
  const [first, second] = step?.args ?? [];
  if (iterRange === undefined || step === undefined || first === undefined) throw notAMacro();
  const common = { range: iterRange, variable: iterVar };
  switch (step.function) {
    case "_||_":
      return { kind: "exists", ...common, test: present(second) };
    case "_&&_":
      return { kind: "all", ...common, test: present(second) };
    case "_+_":
      return { kind: "map", ...common, test: undefined, step: onlyElement(second) };
    case "_?_:_":
      if (accuInit?.exprKind.case === "constExpr") {
        return { kind: "exists_one", ...common, test: first };
      }
      return { kind: "map", ...common, test: first, step: onlyElement(callOf(second)?.args[1]) };
    default:
      throw notAMacro();
  }
}

function callOf(expr: Expr | undefined) {
  return expr?.exprKind.case === "callExpr" ? expr.exprKind.value : undefined;
}

function onlyElement(expr: Expr | undefined): Expr {
  return present(expr?.exprKind.case === "listExpr" ? expr.exprKind.value.elements[0] : undefined);
}

function present(expr: Expr | undefined): Expr {
  if (expr === undefined) throw notAMacro();
  return expr;
}

function notAMacro(): Error {
  return new Error("a comprehension that no macro makes");
}
