import { escapePath } from "./escape.ts";
import { everyFormula, type Formula } from "./formula.ts";
import type { Glob } from "./glob.ts";
import type { Course } from "./outlook.ts";

/** A path that stands for all paths of its kind, and the patterns that hold just those. */
export interface Point {
  readonly path: string;
  /** The path as a URL has it. */
  readonly target: string;
  readonly patterns: readonly string[];
  /** Whether the patterns may also hold a query. */
  readonly isApproximate: boolean;
}

/** The points of a crawler's rules, shorter literals first, and whether some had to be left out. */
export interface Points {
  readonly points: readonly Point[];
  readonly isCut: boolean;
}

/** A character that no rule names: what follows it reaches no longer literal. */
export const OTHER = "\u{f8ff}";

/** Most points with wildcards; beyond them a file would be longer than crawlers read. */
const MAX_GLOB_POINTS = 20_000;

/**
 * Where a verdict can change: for each literal of the rules the path itself and what lies below it,
 * and there again for each text that rules look for within a path, alone and in pairs.
 */
export function pointsOf(courses: readonly Course[]): Points {
  const parts = courses.flatMap(({ condition }) => [...everyFormula(condition)]);
  const globs = globsIn(parts);
  const literals = new Set(["/"]);
  addAll(literals, textsIn(parts));
  addAll(
    literals,
    globs.flatMap((glob) => (glob.isStart ? [glob.pieces[0]] : [])),
  );
  addAll(literals, overlaps(literals, globs));
  const paths = Array.from(literals)
    .filter((text) => text.startsWith("/"))
    .sort((left, right) => left.length - right.length || (left < right ? -1 : 1));
  const isCut = paths.length * (globs.length + globs.length ** 2) > MAX_GLOB_POINTS;
  const points = paths.flatMap((path) => [
    ...literalPoints(path),
    ...(isCut ? [] : globPoints(path, globs)),
  ]);
  return { points, isCut };
}

function textsIn(parts: readonly Formula[]): readonly string[] {
  return parts.flatMap((part) => {
    return part.kind === "texts" ? [...part.exact, ...part.prefixes] : [];
  });
}

function globsIn(parts: readonly Formula[]): readonly Glob[] {
  const globs = parts.flatMap((part) => (part.kind === "globs" ? part.globs : []));
  return [...new Map(globs.map((glob) => [keyOf(glob), glob])).values()];
}

function addAll(texts: Set<string>, more: Iterable<string>): void {
  for (const text of more) texts.add(text);
}

function keyOf({ pieces, isStart, isEnd }: Glob): string {
  return JSON.stringify([pieces, isStart, isEnd]);
}

/** Where a text that is looked for starts within a literal: `/ab` and `bc` make `/abc`. */
function overlaps(literals: ReadonlySet<string>, globs: readonly Glob[]): readonly string[] {
  const pieces = globs.flatMap((glob) => glob.pieces);
  return Array.from(literals).flatMap((literal) =>
    pieces.flatMap((piece) =>
      Array.from(piece, (_, length) =>
        length > 0 && literal.endsWith(piece.slice(0, length))
          ? [literal + piece.slice(length)]
          : [],
      ).flat(),
    ),
  );
}

function literalPoints(path: string): readonly Point[] {
  const escaped = escapePath(path);
  return [
    point(path + OTHER, [escaped], false),
    // A crawler compares the query too, which enforcement leaves aside.
    point(path, [`${escaped}$`, `${escaped}?`], false),
  ];
}

function globPoints(path: string, globs: readonly Glob[]): readonly Point[] {
  const below = globs.flatMap((glob) => tailsBelow(path, glob));
  const single = below.map((tail) => tailPoint(path, [tail]));
  const pairs = below.flatMap((first) =>
    below.flatMap((second) =>
      first === second || first.isEnd ? [] : [tailPoint(path, [first, second])],
    ),
  );
  return [...single, ...pairs];
}

interface Tail {
  readonly pieces: readonly string[];
  readonly isEnd: boolean;
}

/** What of a glob is to come below a path: all of it, and what the path does not hold of it yet. */
function tailsBelow(path: string, { pieces, isStart, isEnd }: Glob): readonly Tail[] {
  if (isStart && !path.startsWith(pieces[0])) return [];
  const held = piecesIn(path, pieces);
  const rest = held > 0 && held < pieces.length ? [{ pieces: pieces.slice(held), isEnd }] : [];
  return isStart ? rest : [{ pieces, isEnd }, ...rest];
}

/** How many of the pieces, in order, a path holds. */
function piecesIn(path: string, pieces: readonly string[]): number {
  let position = 0;
  for (const [index, piece] of pieces.entries()) {
    const found = path.indexOf(piece, position);
    if (found < 0) return index;
    position = found + piece.length;
  }
  return pieces.length;
}

function tailPoint(path: string, tails: readonly Tail[]): Point {
  const pieces = tails.flatMap((tail) => tail.pieces);
  const isEnd = tails.at(-1)?.isEnd === true;
  const pattern = [path, ...pieces].map(escapePath).join("*");
  return point(
    [path, ...pieces, ...(isEnd ? [] : [""])].join(OTHER),
    isEnd ? [`${pattern}$`, `${pattern}?`] : [pattern],
    true,
  );
}

function point(path: string, patterns: readonly string[], isApproximate: boolean): Point {
  return { path, target: escapePath(path), patterns, isApproximate };
}
