import { parse } from "@bufbuild/cel";
import type { Expr, ParsedExpr } from "@bufbuild/cel-spec/cel/expr/syntax_pb.js";
import { findCostFault } from "./checking/cost.ts";
import { findUnguarded } from "./checking/guards.ts";
import { inferCondition } from "./checking/infer.ts";
import { explainSyntax, TOO_DEEP } from "./checking/parse-fault.ts";
import { createPlaces, type ExpressionFault, type Place } from "./checking/places.ts";
import type { CelEnvironment } from "./environment.ts";
import { isDeeperThan } from "./parts.ts";

/** A boolean CEL expression that parsed and type-checked. */
export interface CheckedExpression {
  readonly source: string;
  readonly ast: Expr;
  /**
   * Inputs that it reads, dotted: `bot.verified`, `request.path`, `sets.protected_paths`, and
   * `request.headers.<name>` for a constant header name (`request.headers` when any can be read).
   */
  readonly reads: ReadonlySet<string>;
  /** Look-ups in a map that fail, and the rule with them, when the key is absent. */
  readonly unguarded: readonly UnguardedAccess[];
}

/** A look-up in a map that no `has(…)` or `in` protects. */
export interface UnguardedAccess extends Place {
  /** How it is written: `request.headers["referer"]`. */
  readonly access: string;
  /** The key, where it is constant. */
  readonly key: string | undefined;
}

/** What checking made of an expression: all of its faults at once, or none. */
export type CheckResult =
  | { readonly kind: "checked"; readonly expression: CheckedExpression }
  | { readonly kind: "faulty"; readonly faults: readonly ExpressionFault[] };

/** Longest expression, in UTF-16 code units. */
const MAX_LENGTH = 65_536;
/** Most parts within one another; all that walks a tree relies on it. */
const MAX_DEPTH = 200;

/**
 * Parses and type-checks a condition. Lines and columns of faults are within the expression. Never
 * throws for what an author wrote.
 */
export function checkCondition(source: string, environment: CelEnvironment): CheckResult {
  if (source.length > MAX_LENGTH) {
    return faulty([{ line: 1, column: 1, message: `is longer than ${MAX_LENGTH} characters` }]);
  }
  let parsed: ParsedExpr;
  try {
    // The parser wants a line end after a comment.
    parsed = parse(`${source}\n`);
  } catch (error) {
    return faulty([explainSyntax(source, error, environment)]);
  }
  return checkParsed(source, parsed, environment);
}

function checkParsed(source: string, parsed: ParsedExpr, environment: CelEnvironment): CheckResult {
  const ast = parsed.expr;
  if (ast === undefined) {
    return faulty([{ line: 1, column: 1, message: "the condition is empty" }]);
  }
  if (isDeeperThan(MAX_DEPTH, ast)) return faulty([TOO_DEEP]);
  const places = createPlaces(source, parsed.sourceInfo);
  const { faults, reads } = inferCondition(ast, places, environment);
  if (faults.length > 0) return faulty(faults);
  const cost = findCostFault(ast, environment);
  if (cost !== undefined) return faulty([{ line: 1, column: 1, message: cost }]);
  const unguarded = findUnguarded(ast, places);
  return { kind: "checked", expression: { source, ast, reads, unguarded } };
}

function faulty(faults: readonly ExpressionFault[]): CheckResult {
  const sorted = faults.toSorted(
    (left, right) => left.line - right.line || left.column - right.column,
  );
  return { kind: "faulty", faults: sorted };
}
