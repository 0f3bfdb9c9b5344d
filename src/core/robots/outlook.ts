import type { Bot, Verification } from "../bot/bot.ts";
import { isVerifiable } from "../bot/bot.ts";
import { createEvaluator } from "../policy/evaluate.ts";
import type { Policy, Rule } from "../policy/policy.ts";
import { type RuleList, runRuleList } from "../policy/rule-list.ts";
import type { CrawlRequest } from "../request.ts";
import { type Course, createCourses } from "./course.ts";
import { type CourseIndex, createCourseIndex } from "./course-index.ts";
import { remember } from "./remember.ts";

/** What enforcement holds for crawlers that the rules treat alike, as far as a path alone tells. */
export interface Outlook {
  /** In order of evaluation; rules in shadow are left out. */
  readonly courses: readonly Course[];
  /** Whether some course depends on what cannot be seen. */
  readonly isVague: boolean;
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

/** Makes the outlooks of crawlers, for one host or for any; those that rules treat alike share one. */
export function createOutlooks(
  policy: Policy,
  host: string | undefined,
  bots: readonly Bot[],
): (bot: Bot) => Outlook {
  const evaluator = createEvaluator(policy);
  const listOf = (bot: Bot): RuleList => evaluator.listFor(bot, assumedVerification(bot));
  const requestFor = remember((path: string) => requestOf(host, path));
  const courseOf = remember(createCourses(host, requestFor));
  const coursesOf = remember(({ rules }: RuleList) =>
    rules.filter(({ rule }) => rule.mode === "enforce").map(courseOf),
  );
  const all = new Set([...new Set(bots.map(listOf))].flatMap(coursesOf));
  const chancesAt = createCourseIndex(inOrder(policy, all));
  const outlookOf = remember((list: RuleList): Outlook => {
    const enforced = (path: string): Rule => runRuleList(list, requestFor(path), path).rule;
    return createOutlook(policy, coursesOf(list), chancesAt, enforced);
  });
  return (bot) => outlookOf(listOf(bot));
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

function createOutlook(
  { site, defaultRule }: Policy,
  courses: readonly Course[],
  chancesAt: CourseIndex,
  enforced: (path: string) => Rule,
): Outlook {
  const own = new Set(courses);
  const deciders = (path: string): readonly Rule[] => {
    const rules: Rule[] = [];
    for (const { course, isSure } of chancesAt(path)) {
      if (!own.has(course)) continue;
      rules.push(course.rule);
      if (isSure) return rules;
    }
    rules.push(defaultRule);
    return rules;
  };
  const readings = (path: string): readonly string[] =>
    site.caseInsensitivePaths ? [path, path.toLowerCase()] : [path];
  return {
    courses,
    isVague: courses.some(({ condition }) => condition.causes.length > 0),
    deciders,
    isBlocked: (path) => readings(path).some((reading) => deciders(reading).every(isBlock)),
    enforced,
  };
}

function isBlock(rule: Rule): boolean {
  return rule.action.kind === "block";
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
