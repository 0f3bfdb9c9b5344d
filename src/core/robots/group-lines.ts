import type { Draft, Line } from "./draft.ts";
import type { Outlook } from "./outlook.ts";
import type { Point, Points } from "./points.ts";

/** The lines of one crawler's group, and where they are known to fall short. */
export interface GroupLines {
  readonly lines: readonly Line[];
  readonly points: readonly Point[];
  /** Points at which some line holds more than what is meant: a query. */
  readonly approximate: readonly Point[];
  /** Points at which the lines say other than what is enforced. */
  readonly differing: readonly Point[];
  /** Whether rules were too many and too wild to be followed in all combinations. */
  readonly isCut: boolean;
}

/**
 * Lines that say of every path what enforcement says, as near as patterns can. From short literals
 * to long ones, each gets a line where those before it say otherwise: as the longest pattern wins,
 * that is exact for prefixes and whole paths. Where patterns with `*` get in the way of each other,
 * none forbids what is served. `draft` is empty, and takes the patterns of the points.
 */
export function groupLines(outlook: Outlook, { points, isCut }: Points, draft: Draft): GroupLines {
  const approximate: Point[] = [];
  for (const point of points) {
    if (isRight(draft, outlook, point)) continue;
    addPoint(draft, outlook, point);
    if (point.isApproximate) approximate.push(point);
  }
  const hasWildcards = draft.lines().some((line) => line.pattern.includes("*"));
  if (hasWildcards) settle(draft, outlook, points);
  const isWrong = (point: Point): boolean => !isRight(draft, outlook, point);
  const differing = hasWildcards ? points.filter(isWrong) : [];
  return { lines: draft.lines(), points, approximate, differing, isCut };
}

function verdictOf(outlook: Outlook, point: Point): Line["kind"] {
  return outlook.isBlocked(point.path) ? "disallow" : "allow";
}

function isRight(draft: Draft, outlook: Outlook, point: Point): boolean {
  return said(draft, point) === verdictOf(outlook, point);
}

function said(draft: Draft, point: Point): Line["kind"] {
  return draft.decide(point.target)?.kind ?? "allow";
}

function addPoint(draft: Draft, outlook: Outlook, point: Point): void {
  const kind = verdictOf(outlook, point);
  for (const pattern of point.patterns) draft.add({ kind, pattern });
}

/** A pattern with `*` can be longer than the line of a literal below it, and then wins over it. */
function settle(draft: Draft, outlook: Outlook, points: readonly Point[]): void {
  for (const point of points) {
    if (!isRight(draft, outlook, point)) addPoint(draft, outlook, point);
  }
  for (const point of points) {
    if (!outlook.isBlocked(point.path)) dropClaims(draft, point);
  }
}

/** Rather say less than forbid what is served. */
function dropClaims(draft: Draft, point: Point): void {
  let line = draft.decide(point.target);
  while (line?.kind === "disallow") {
    draft.remove(line);
    line = draft.decide(point.target);
  }
}
