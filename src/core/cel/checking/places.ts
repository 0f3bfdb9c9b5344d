import type { Expr, SourceInfo } from "@bufbuild/cel-spec/cel/expr/syntax_pb.js";

/** A place within an expression; both from 1, columns in UTF-16 code units. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** Something wrong in an expression, and where. */
export interface ExpressionFault extends Place {
  readonly message: string;
}

/** Finds where the parts of one parsed expression stand in its text. */
export interface Places {
  of(expr: Expr): Place;
  /** Of the name after the dot of a field access or a method call. */
  ofMember(expr: Expr): Place;
}

/** Places of a parsed expression. The parser counts blanks and the dot to the part after them. */
export function createPlaces(source: string, info: SourceInfo | undefined): Places {
  const offsetOf = (expr: Expr) => info?.positions[expr.id.toString()] ?? 0;
  return {
    of: (expr) => placeAt(source, skip(source, offsetOf(expr), BLANK)),
    ofMember: (expr) => placeAt(source, skip(source, offsetOf(expr), BLANK_OR_DOT)),
  };
}

const BLANK = " \t\r\n\f";
const BLANK_OR_DOT = `${BLANK}.`;

function skip(source: string, offset: number, characters: string): number {
  let at = offset;
  while (at < source.length && characters.includes(source.charAt(at))) at++;
  return at < source.length ? at : offset;
}

/** Line and column of an offset. */
export function placeAt(source: string, offset: number): Place {
  const before = source.slice(0, offset);
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
}
