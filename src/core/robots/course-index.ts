import type { Course } from "./course.ts";
import { HOLDS } from "./formula.ts";
import { remember } from "./remember.ts";
import { createStarts } from "./starts.ts";

/** A course that may hold at a path, and whether it surely does. */
export interface Chance {
  readonly course: Course;
  readonly isSure: boolean;
}

/** The courses, of all crawlers, that may hold at a path, in order of evaluation. */
export type CourseIndex = (path: string) => readonly Chance[];

/**
 * Finds guarded courses by the literals of their guards and tries the others; each path is looked at
 * once. `courses` are in order of evaluation.
 */
export function createCourseIndex(courses: readonly Course[]): CourseIndex {
  const candidatesAt = createSearch(courses);
  return remember((path: string) =>
    candidatesAt(path).flatMap((course): readonly Chance[] => {
      const outcomes = course.outcomesAt(path);
      return (outcomes & HOLDS) === 0 ? [] : [{ course, isSure: outcomes === HOLDS }];
    }),
  );
}

/** The courses whose guards let a path through. */
function createSearch(courses: readonly Course[]): (path: string) => readonly Course[] {
  const exact = new Map<string, number[]>();
  const prefixes = new Map<string, number[]>();
  const anywhere: number[] = [];
  for (const [rank, { condition }] of courses.entries()) {
    if (condition.guard === undefined) anywhere.push(rank);
    for (const text of condition.guard?.exact ?? []) addTo(exact, text, rank);
    for (const prefix of condition.guard?.prefixes ?? []) addTo(prefixes, prefix, rank);
  }
  const startsOf = createStarts(new Set(prefixes.keys()));
  return (path) => {
    const below = startsOf(path).flatMap((start) => prefixes.get(start) ?? []);
    const ranks = new Set([...anywhere, ...(exact.get(path) ?? []), ...below]);
    return [...ranks].sort((left, right) => left - right).flatMap((rank) => courses[rank] ?? []);
  };
}

function addTo(ranks: Map<string, number[]>, text: string, rank: number): void {
  const known = ranks.get(text);
  if (known === undefined) ranks.set(text, [rank]);
  else known.push(rank);
}
