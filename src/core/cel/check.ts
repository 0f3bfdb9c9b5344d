import type { Expr } from "@bufbuild/cel-spec/cel/expr/syntax_pb.js";

/** A boolean CEL expression that parsed and type-checked. */
export interface CheckedExpression {
  readonly source: string;
  readonly ast: Expr;
  /**
   * Inputs that it reads, dotted: `bot.verified`, `request.path`, `sets.protected_paths`, and
   * `request.headers.<name>` for a constant header name (`request.headers` when any can be read).
   */
  readonly reads: ReadonlySet<string>;
}
