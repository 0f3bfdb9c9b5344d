import type { Bot, Verification } from "../bot/bot.ts";
import { isVerifiable } from "../bot/bot.ts";
import { createEvaluator } from "../policy/evaluate.ts";
import type { Policy, Rule } from "../policy/policy.ts";
import { type RuleList, runRuleList } from "../policy/rule-list.ts";
import type { CrawlRequest } from "../request.ts";
import { type Course, createCourses } from "./course.ts";
import { type CourseIndex, createCourseIndex } from "./course-index.ts";
import { type Crowd, crowdOf, NOBODY } from "./crowd.ts";
import { createRefusals } from "./refusals.ts";
import { remember } from "./remember.ts";

/** What enforcement holds for crawlers that the rules treat alike, as far as a path alone tells. */
export interface Outlook {
  /** In order of evaluation; rules in shadow are left out. */
  readonly courses: readonly Course[];
  /**
   * The rules that may decide a path: one, unless some depend on what cannot be seen; the last
   * decides where none of those does.
   */
  deciders(path: string): readonly Rule[];
  /** Whether a path is refused whatever cannot be seen; any reading that is refused counts. */
  isBlocked(path: string): boolean;
  /** The rule that enforcement selects for a request of which nothing but the path is known. */
  enforced(path: string): Rule;
}

/** The outlooks of crawlers; those that the rules treat alike share one. */
export interface Outlooks {
  /** In the order of the bits of a {@link Crowd}. */
  readonly all: readonly Outlook[];
  of(bot: Bot): Outlook;
  /** Whether the site takes paths for the same that differ in the case of their letters. */
  readonly areCaseless: boolean;
  /** Whom a path is refused, as `isBlocked` has it. */
  refused(path: string): Crowd;
}

/** Makes the outlooks of some crawlers, for one host or for any. */
export function createOutlooks(
  policy: Policy,
  host: string | undefined,
  bots: readonly Bot[],
): Outlooks {
  const evaluator = createEvaluator(policy);
  const listOf = (bot: Bot): RuleList => evaluator.listFor(bot, assumedVerification(bot));
  const lists = [...new Set(bots.map(listOf))];
  const requestFor = remember((path: string) => requestOf(host, path));
  const courseOf = remember(createCourses(host, requestFor));
  const coursesOf = remember(({ rules }: RuleList) =>
    rules.filter(({ rule }) => rule.mode === "enforce").map(courseOf),
  );
  const chancesAt = createCourseIndex(inOrder(policy, new Set(lists.flatMap(coursesOf))));
  const refused = createRefusals(policy, lists.map(coursesOf), chancesAt);
  const outlookOf = remember((list: RuleList): Outlook => {
    const self = crowdOf(lists.indexOf(list));
    const courses = coursesOf(list);
    return {
      courses,
      deciders: createDeciders(courses, policy.defaultRule, chancesAt),
      isBlocked: (path) => (refused(path) & self) !== NOBODY,
      enforced: (path) => runRuleList(list, requestFor(path), path).rule,
    };
  });
  return {
    all: lists.map(outlookOf),
    of: (bot) => outlookOf(listOf(bot)),
    areCaseless: policy.site.caseInsensitivePaths,
    refused,
  };
}

/**
 * A crawler that reads robots.txt is taken for genuine where that can be proved, and for a mere
 * claim where it cannot: so enforcement will treat it.
 */
export function assumedVerification(bot: Bot): Verification {
  return !bot.isDefault && isVerifiable(bot) ? "verified" : "unverifiable";
}

function inOrder({ rules }: Policy, courses: Iterable<Course>): readonly Course[] {
  const places = new Map(rules.map((rule, index) => [rule, index]));
  const placeOf = ({ rule }: Course): number => places.get(rule) ?? 0;
  return [...courses].sort((left, right) => placeOf(left) - placeOf(right));
}

function createDeciders(
  courses: readonly Course[],
  defaultRule: Rule,
  chancesAt: CourseIndex,
): Outlook["deciders"] {
  const own = new Set(courses);
  return (path) => {
    const rules: Rule[] = [];
    for (const { course, isSure } of chancesAt(path)) {
      if (!own.has(course)) continue;
      rules.push(course.rule);
      if (isSure) return rules;
    }
    rules.push(defaultRule);
    return rules;
  };
}

/** A crawler's request for a page: what the rules cannot see in robots.txt is empty. */
function requestOf(host: string | undefined, path: string): CrawlRequest {
  const name = host ?? "";
  return {
    method: "GET",
    scheme: "https",
    host: name,
    authority: name,
    target: { rawPath: path, query: "", readings: [path] },
    address: { ip: "", limitKey: "", isPublic: false },
    userAgent: "",
    headers: NO_FIELDS,
  };
}

const NO_FIELDS = { get: () => undefined, all: () => new Map<string, string>() };
