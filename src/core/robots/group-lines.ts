import { type Crowd, NOBODY, sharesOf } from "./crowd.ts";
import { createDraft, type Draft, type Line } from "./draft.ts";
import type { Outlook, Outlooks } from "./outlook.ts";
import { createPoints, joinPoints, type Point } from "./points.ts";

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

/** Points, each with crawlers of whom something is true there. */
type PointCrowds = readonly (readonly [Point, Crowd])[];

/**
 * Lines that say of every path what enforcement says, as near as patterns can. From short literals
 * to long ones, each gets a line where those before it say otherwise: as the longest pattern wins,
 * that is exact for prefixes and whole paths. Where patterns with `*` get in the way of each other,
 * none forbids what is served.
 */
export function groupLines(outlooks: Outlooks): ReadonlyMap<Outlook, GroupLines> {
  const pointsOf = outlooks.all.map(createPoints());
  const points: PointCrowds = joinPoints(pointsOf);
  const draft = createDraft(new Set(points.flatMap(([{ patterns }]) => patterns)));
  const added = addLines(draft, outlooks, points);
  const wild = among(points, havingWildcards(draft));
  settle(draft, outlooks, wild);
  const share = <Thing>(owners: Iterable<readonly [Thing, Crowd]>) =>
    sharesOf(owners, pointsOf.length);
  const lines = share(draft.lines());
  const approximate = share(added.filter(([{ isApproximate }]) => isApproximate));
  const differing = share(wrong(draft, outlooks, wild));
  return new Map(
    outlooks.all.map((outlook, index) => [
      outlook,
      {
        lines: lines[index] ?? [],
        points: pointsOf[index]?.points ?? [],
        approximate: approximate[index] ?? [],
        differing: differing[index] ?? [],
        isCut: pointsOf[index]?.isCut === true,
      },
    ]),
  );
}

/** Adds lines point by point where those before say otherwise, and tells where it did. */
function addLines(draft: Draft, outlooks: Outlooks, points: PointCrowds): PointCrowds {
  const added: [Point, Crowd][] = [];
  for (const [point, owners] of points) {
    const refused = outlooks.refused(point.path);
    const crowd = owners & (draft.disallowed(point.target) ^ refused);
    if (crowd === NOBODY) continue;
    added.push([point, crowd]);
    for (const pattern of point.patterns) {
      draft.add({ kind: "disallow", pattern }, crowd & refused);
      draft.add({ kind: "allow", pattern }, crowd & ~refused);
    }
  }
  return added;
}

/** Where lines say other than what is enforced. */
function wrong(draft: Draft, outlooks: Outlooks, points: PointCrowds): PointCrowds {
  return points.map(([point, owners]) => {
    const isWrong = draft.disallowed(point.target) ^ outlooks.refused(point.path);
    return [point, owners & isWrong];
  });
}

function havingWildcards(draft: Draft): Crowd {
  let crowd = NOBODY;
  for (const [{ pattern }, owners] of draft.lines()) if (pattern.includes("*")) crowd |= owners;
  return crowd;
}

function among(points: PointCrowds, crowd: Crowd): PointCrowds {
  return points
    .map(([point, owners]) => [point, owners & crowd] as const)
    .filter(([, owners]) => owners !== NOBODY);
}

/**
 * A pattern with `*` can be longer than the line of a literal below it, and then wins over it. Rather
 * say less than forbid what is served.
 */
function settle(draft: Draft, outlooks: Outlooks, points: PointCrowds): void {
  addLines(draft, outlooks, points);
  for (const [{ target, path }, owners] of points) {
    draft.open(target, owners & ~outlooks.refused(path));
  }
}
