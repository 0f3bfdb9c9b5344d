import { createHash } from "node:crypto";
import type { Policy } from "../policy/policy.ts";
import { createDrafts } from "./draft.ts";
import { type GroupLines, groupLines } from "./group-lines.ts";
import { createSharers, delayOf, type LimitedCourse, limitsOf } from "./limit-delay.ts";
import type { RobotsNote } from "./note.ts";
import { notesOn, standingNotes } from "./notes.ts";
import { createOutlooks, type Outlook } from "./outlook.ts";
import { parseRobots } from "./parse.ts";
import { createPoints } from "./points.ts";
import { remember } from "./remember.ts";
import { type Group, renderRobots } from "./render.ts";
import { checkDelay, createSelfCheck } from "./self-check.ts";
import { type Addressee, addresseesOf } from "./tokens.ts";

/** A robots.txt file made from a policy, and what it does not say. */
export interface GeneratedRobots {
  /** ASCII with LF. */
  readonly body: string;
  /** Of `body`, in hexadecimal: its version. */
  readonly sha256: string;
  readonly notes: readonly RobotsNote[];
}

/** A crawler with what is found out about it; those that the rules treat alike share that. */
interface Entry extends Addressee {
  readonly outlook: Outlook;
  readonly made: GroupLines;
  readonly limits: readonly LimitedCourse[];
}

/**
 * Makes the file of one host; undefined stands for any host of a wildcard site, and rules on the host
 * are then left out. Verdicts come from running the rules; conditions only propose where to look.
 * Throws where the file, read back, differs from enforcement and no note says so: an error of ours.
 */
export function generateRobots(policy: Policy, host: string | undefined): GeneratedRobots {
  const { addressees, notes: tokenNotes } = addresseesOf(policy);
  const entries = entriesOf(policy, host, addressees);
  const sharers = createSharers(policy, entries);
  const notes: RobotsNote[] = [...standingNotes(policy), ...tokenNotes];
  const groups = entries.map(({ token, bot, made, limits }): Group => {
    const delay = delayOf(policy, bot, limits, sharers);
    notes.push(...delay.notes);
    return { token, lines: made.lines, delaySeconds: delay.seconds };
  });
  const body = renderRobots(policy, groups);
  notes.push(...checkedNotes(body, entries, groups), ...sizeNotes(body, groups));
  const sha256 = createHash("sha256").update(body).digest("hex");
  return { body, sha256, notes: inOrder(policy, distinct(notes)) };
}

function entriesOf(
  policy: Policy,
  host: string | undefined,
  addressees: readonly Addressee[],
): readonly Entry[] {
  const bots = addressees.map(({ bot }) => bot);
  const outlookOf = createOutlooks(policy, host, bots);
  const pointsOf = remember(createPoints());
  const outlooks = [...new Set(bots.map(outlookOf))];
  const points = new Set(outlooks.flatMap(({ courses }) => pointsOf(courses).points));
  const newDraft = createDrafts([...points].flatMap(({ patterns }) => patterns));
  const findingsOn = remember((outlook: Outlook) => {
    const made = groupLines(outlook, pointsOf(outlook.courses), newDraft());
    return { outlook, made, limits: limitsOf(outlook, made.points) };
  });
  return addressees.map((addressee) => ({ ...addressee, ...findingsOn(outlookOf(addressee.bot)) }));
}

function checkedNotes(
  body: string,
  entries: readonly Entry[],
  groups: readonly Group[],
): readonly RobotsNote[] {
  const file = parseRobots(body);
  const differencesIn = createSelfCheck(file);
  const seen = new Set<Outlook>();
  for (const group of groups) checkDelay(file, group);
  return entries.flatMap(({ outlook, made }, index) => {
    const group = groups[index];
    if (group === undefined || seen.has(outlook)) return [];
    seen.add(outlook);
    const differing = differencesIn({ outlook, made, group });
    return [...notesOn(outlook, made), ...differing.map((target) => found(outlook, target))];
  });
}

function found(outlook: Outlook, witness: string): RobotsNote {
  const path = decodeURIComponent(witness.replace(/\?q=1$/, ""));
  const ruleId = outlook.deciders(path).at(-1)?.id ?? "";
  const message = "its patterns and others overlap in a way that robots.txt cannot untangle";
  return { ruleId, code: "not_fully_expressed", message, witness };
}

/** What Google reads of a file, and Yandex of a group and a line. */
const MAX_FILE_BYTES = 500 * 1024;
const MAX_GROUP_LINES = 2048;
const MAX_PATTERN_LENGTH = 1024;

function sizeNotes(body: string, groups: readonly Group[]): readonly RobotsNote[] {
  const notes: RobotsNote[] = [];
  const add = (message: string): void => {
    notes.push({ ruleId: "", code: "large_file", message, witness: undefined });
  };
  if (body.length > MAX_FILE_BYTES) add(`${body.length} bytes; Google reads ${MAX_FILE_BYTES}`);
  for (const { token, lines } of groups) {
    if (lines.length > MAX_GROUP_LINES) {
      add(`${lines.length} lines for ${token}; some crawlers read ${MAX_GROUP_LINES}`);
    }
    if (lines.some(({ pattern }) => pattern.length > MAX_PATTERN_LENGTH)) {
      add(`a line for ${token} is longer than the ${MAX_PATTERN_LENGTH} that some crawlers read`);
    }
  }
  return notes;
}

/** One note for a rule and a code: the first that has a witness, else the first. */
function distinct(notes: readonly RobotsNote[]): readonly RobotsNote[] {
  const kept = new Map<string, RobotsNote>();
  for (const note of notes) {
    const key = JSON.stringify([note.ruleId, note.code, note.ruleId === "" ? note.message : ""]);
    const before = kept.get(key);
    if (before === undefined || (before.witness === undefined && note.witness !== undefined)) {
      kept.set(key, note);
    }
  }
  return [...kept.values()];
}

/** What is about the whole file first, then in the order of the rules. */
function inOrder(policy: Policy, notes: readonly RobotsNote[]): readonly RobotsNote[] {
  const places = new Map(policy.rules.map((rule, index) => [rule.id, index]));
  places.set("", -1);
  const placeOf = ({ ruleId }: RobotsNote): number => places.get(ruleId) ?? policy.rules.length;
  return notes.toSorted((left, right) => placeOf(left) - placeOf(right));
}
