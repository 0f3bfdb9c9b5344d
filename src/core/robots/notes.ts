import type { Policy, Rule } from "../policy/policy.ts";
import type { Course } from "./course.ts";
import { escapePath } from "./escape.ts";
import type { GroupLines } from "./group-lines.ts";
import { createPathMatcher, type PathMatcher } from "./match.ts";
import type { NoteCode, RobotsNote } from "./note.ts";
import type { Outlook } from "./outlook.ts";
import { OTHER, type Point } from "./points.ts";

/** What a crawler's group does not say, or says otherwise, by rule. */
export function notesOn(outlook: Outlook, group: GroupLines): readonly RobotsNote[] {
  return [
    ...unseenNotes(outlook, group.points),
    ...approximations(outlook, group),
    ...group.differing.flatMap((point) => difference(outlook, point)),
    ...(group.isCut ? cutNotes(outlook) : []),
  ];
}

/** Rules that could decide a path, where others could too and say otherwise. */
function unseenNotes(outlook: Outlook, points: readonly Point[]): readonly RobotsNote[] {
  const courses = new Map(outlook.courses.map((course) => [course.rule, course]));
  const notes = new Map<Rule, RobotsNote>();
  for (const point of points.filter(({ path }) => !outlook.isBlocked(path))) {
    for (const rule of outlook.deciders(point.path).slice(0, -1)) {
      const course = courses.get(rule);
      if (course !== undefined && !notes.has(rule)) notes.set(rule, unseenNote(course, point));
    }
  }
  return [...notes.values()];
}

function unseenNote({ rule, condition }: Course, point: Point): RobotsNote {
  const all = condition.causes.join(", ");
  const isInput = all.includes("`");
  const message = isInput
    ? `depends on ${all}, which robots.txt cannot tell; left out`
    : `holds ${all}; left out`;
  return note(rule, isInput ? "unseen_input" : "no_pattern", message, witnessOf(point));
}

function approximations(
  outlook: Outlook,
  { approximate, lines }: GroupLines,
): readonly RobotsNote[] {
  if (approximate.length === 0) return [];
  const matcher = createPathMatcher(lines.map((line) => ({ ...line, line: 1 })));
  return approximate.flatMap((point) => approximation(outlook, point, matcher));
}

function approximation(
  outlook: Outlook,
  point: Point,
  matcher: PathMatcher,
): readonly RobotsNote[] {
  const rule = outlook.deciders(point.path).at(-1);
  const [pattern = ""] = point.patterns;
  if (rule === undefined) return [];
  const message = `is written as \`${pattern}\`, which also matches in the query`;
  return [note(rule, "approximated", message, queryWitness(outlook, pattern, matcher))];
}

/** A URL whose query alone holds what a pattern looks for, if the file then errs. */
function queryWitness(outlook: Outlook, pattern: string, matcher: PathMatcher): string | undefined {
  const [head = "", ...tail] = pattern.replace(/[$?]$/, "").split("*");
  const path = `${decodeURIComponent(head)}x`;
  const target = `${escapePath(path)}?y=${tail.join("x")}`;
  return matcher(target).allowed === outlook.isBlocked(path) ? target : undefined;
}

function difference(outlook: Outlook, point: Point): readonly RobotsNote[] {
  const rule = outlook.deciders(point.path).at(-1);
  if (rule === undefined) return [];
  const message = "cannot be said beside longer patterns; enforcement holds, the file is silent";
  return [note(rule, "not_fully_expressed", message, witnessOf(point))];
}

function cutNotes(outlook: Outlook): readonly RobotsNote[] {
  return outlook.courses
    .filter(({ condition }) => condition.globs.length > 0)
    .map(({ rule }) =>
      note(rule, "not_fully_expressed", "too many texts are looked for within paths; left out"),
    );
}

/** The path as a URL has it; a plain letter stands for the rest. */
function witnessOf(point: Point): string {
  return escapePath(point.path.replaceAll(OTHER, "x"));
}

/** What holds for the whole file. */
export function standingNotes(policy: Policy): readonly RobotsNote[] {
  const notes: RobotsNote[] = policy.rules.flatMap((rule) => methodNote(rule));
  notes.push({
    ruleId: "",
    code: "other_readings",
    message:
      "the file speaks of URLs in normal form; enforcement also refuses other spellings of a path that it blocks",
    witness: undefined,
  });
  if (policy.site.caseInsensitivePaths) {
    const message = "patterns tell upper from lower case, and enforcement of this site does not";
    notes.push({ ruleId: "", code: "other_case", message, witness: undefined });
  }
  return notes;
}

function methodNote(rule: Rule): readonly RobotsNote[] {
  const isSeen = rule.mode === "enforce" && rule.when?.reads.has("request.method") === true;
  const isLimit = rule.action.kind === "block" || rule.action.kind === "rate_limit";
  if (!isSeen || !isLimit) return [];
  return [note(rule, "other_method", "depends on `request.method`; the file speaks for GET")];
}

function note(rule: Rule, code: NoteCode, message: string, witness?: string): RobotsNote {
  return { ruleId: rule.id, code, message, witness };
}
