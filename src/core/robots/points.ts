import type { Course } from "./course.ts";
import { type Crowd, ownersOf } from "./crowd.ts";
import { escapePath } from "./escape.ts";
import type { Glob } from "./glob.ts";
import type { Outlook } from "./outlook.ts";
import { remember } from "./remember.ts";

/** A path that stands for all paths of its kind, and the patterns that hold just those. */
export interface Point {
  /** The literal that it is about. */
  readonly literal: string;
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
 * and there again for each text that rules look for within a path, alone and in pairs. Points of a
 * literal are made once, for all crawlers.
 */
export function createPoints(): (outlook: Outlook) => Points {
  const plainPoints = remember(literalPoints);
  const intern = createInterner();
  const globPointsBeside = remember((globs: readonly Glob[]) =>
    remember((path: string) => globPoints(path, globs)),
  );
  return ({ courses }) => {
    const globs = intern(globsIn(courses));
    const paths = literalsOf(courses, globs);
    const isCut = paths.length * (globs.length + globs.length ** 2) > MAX_GLOB_POINTS;
    const wildPoints = globPointsBeside(isCut ? NO_GLOBS : globs);
    const points = paths.flatMap((path) => [...plainPoints(path), ...wildPoints(path)]);
    return { points, isCut };
  };
}

const NO_GLOBS: readonly Glob[] = [];

/** Makes equal lists of globs the same list. */
function createInterner(): (globs: readonly Glob[]) => readonly Glob[] {
  const known = new Map<string, readonly Glob[]>();
  return (globs) => {
    const key = globs.map(keyOf).join();
    const same = known.get(key) ?? globs;
    known.set(key, same);
    return same;
  };
}

function globsIn(courses: readonly Course[]): readonly Glob[] {
  const globs = courses.flatMap(({ condition }) => condition.globs);
  return [...new Map(globs.map((glob) => [keyOf(glob), glob])).values()];
}

/** Literals that a path can start with, shorter ones first. */
function literalsOf(courses: readonly Course[], globs: readonly Glob[]): readonly string[] {
  const literals = new Set(["/"]);
  for (const { condition } of courses) addAll(literals, condition.texts);
  addAll(
    literals,
    globs.flatMap((glob) => (glob.isStart ? [glob.pieces[0]] : [])),
  );
  addAll(literals, overlaps(literals, globs));
  return Array.from(literals)
    .filter((text) => text.startsWith("/"))
    .sort(shorterFirst);
}

function shorterFirst(left: string, right: string): number {
  if (left === right) return 0;
  return left.length - right.length || (left < right ? -1 : 1);
}

/** The points of outlooks, each with those who have it; for all of these in their order. */
export function joinPoints(pointsOf: readonly Points[]): readonly (readonly [Point, Crowd])[] {
  const owners = ownersOf(pointsOf.map(({ points }) => points));
  return [...owners].sort(([left], [right]) => shorterFirst(left.literal, right.literal));
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
    point(path, path + OTHER, [escaped], false),
    // A crawler compares the query too, which enforcement leaves aside.
    point(path, path, [`${escaped}$`, `${escaped}?`], false),
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
    path,
    [path, ...pieces, ...(isEnd ? [] : [""])].join(OTHER),
    isEnd ? [`${pattern}$`, `${pattern}?`] : [pattern],
    true,
  );
}

function point(
  literal: string,
  path: string,
  patterns: readonly string[],
  isApproximate: boolean,
): Point {
  return { literal, path, target: escapePath(path), patterns, isApproximate };
}
