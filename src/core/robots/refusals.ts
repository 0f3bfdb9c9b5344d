import type { Policy, Rule } from "../policy/policy.ts";
import type { Course } from "./course.ts";
import type { Chance, CourseIndex } from "./course-index.ts";
import { type Crowd, crowdOf, NOBODY, ownersOf } from "./crowd.ts";
import { remember } from "./remember.ts";

/**
 * Makes the function that tells whom a path is refused whatever cannot be seen: all rules that may
 * decide it block. Any reading of the path that is refused counts. `courses`: one list an outlook.
 */
export function createRefusals(
  { site, defaultRule }: Policy,
  courses: readonly (readonly Course[])[],
  chancesAt: CourseIndex,
): (path: string) => Crowd {
  const everybody = crowdOf(courses.length) - 1n;
  const owners = ownersOf(courses);
  // A refusal that may not come leaves the path to the rules after it.
  const decisive = ({ course, isSure }: Chance): boolean => isSure || !isBlock(course.rule);
  const refusedAt = (path: string): Crowd => {
    let undecided = everybody;
    let refused = NOBODY;
    for (const { course } of chancesAt(path).filter(decisive)) {
      const reached = undecided & (owners.get(course) ?? NOBODY);
      if (isBlock(course.rule)) refused |= reached;
      undecided ^= reached;
    }
    return isBlock(defaultRule) ? refused | undecided : refused;
  };
  return remember<string, Crowd>((path) =>
    site.caseInsensitivePaths ? refusedAt(path) | refusedAt(path.toLowerCase()) : refusedAt(path),
  );
}

function isBlock(rule: Rule): boolean {
  return rule.action.kind === "block";
}
