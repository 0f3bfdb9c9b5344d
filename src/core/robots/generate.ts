import { createHash } from "node:crypto";
import type { Policy } from "../policy/policy.ts";
import { type GroupLines, groupLines } from "./group-lines.ts";
import { createSharers, delayOf, type LimitedCourse, limitsOf } from "./limit-delay.ts";
import type { RobotsNote } from "./note.ts";
import { notesOn, standingNotes } from "./notes.ts";
import { createOutlooks, type Outlook, type Outlooks } from "./outlook.ts";
import { parseRobots, type RobotsFile } from "./parse.ts";
import { remember } from "./remember.ts";
import { type Group, renderRobots } from "./render.ts";
import { checkDelay, differencesIn } from "./self-check.ts";
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
  const bots = addressees.map(({ bot }) => bot);
  const outlooks = createOutlooks(policy, host, bots);
  const entries = entriesOf(outlooks, addressees);
  const sharers = createSharers(policy, entries);
  const notes: RobotsNote[] = [...standingNotes(policy), ...tokenNotes];
  const groups = entries.map(({ token, bot, made, limits }): Group => {
    const delay = delayOf(policy, bot, limits, sharers);
    notes.push(...delay.notes);
    return { token, lines: made.lines, delaySeconds: delay.seconds };
  });
  const body = renderRobots(policy, groups);
  const file = parseRobots(body);
  for (const group of groups) checkDelay(file, group);
  notes.push(...checkedNotes(file, outlooks, entries), ...sizeNotes(body, groups));
  const sha256 = createHash("sha256").update(body).digest("hex");
  return { body, sha256, notes: inOrder(policy, distinct(notes)) };
}

function entriesOf(outlooks: Outlooks, addressees: readonly Addressee[]): readonly Entry[] {
  const madeFor = groupLines(outlooks);
  const limitsFor = remember((outlook: Outlook) =>
    limitsOf(outlook, madeFor.get(outlook)?.points ?? []),
  );
  return addressees.flatMap((addressee) => {
    const outlook = outlooks.of(addressee.bot);
    const made = madeFor.get(outlook);
    return made === undefined ? [] : [{ ...addressee, outlook, made, limits: limitsFor(outlook) }];
  });
}

function checkedNotes(
  file: RobotsFile,
  outlooks: Outlooks,
  entries: readonly Entry[],
): readonly RobotsNote[] {
  const first = new Map(entries.toReversed().map((entry) => [entry.outlook, entry]));
  const checked = outlooks.all.flatMap((outlook) => first.get(outlook) ?? []);
  const differing = differencesIn(file, outlooks, checked);
  return checked.flatMap(({ outlook, made }, index) => [
    ...notesOn(outlook, made),
    ...(differing[index] ?? []).map((url) => found(outlook, url)),
  ]);
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
