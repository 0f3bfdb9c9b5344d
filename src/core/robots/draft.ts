import { type Crowd, NOBODY } from "./crowd.ts";
import { createPatternTest } from "./match.ts";
import { remember } from "./remember.ts";
import { createStarts } from "./starts.ts";

/** An Allow or Disallow line of a group. */
export interface Line {
  readonly kind: "allow" | "disallow";
  readonly pattern: string;
}

/** The groups of all crawlers, in the making. */
export interface Draft {
  /** Gives a line to crawlers, in the place of one that they have with the same pattern. */
  add(line: Line, crowd: Crowd): void;
  /** Whom the lines forbid a path, to crawlers that follow RFC 9309. */
  disallowed(target: string): Crowd;
  /** Takes the lines away that forbid a path to some crawlers. */
  open(target: string, crowd: Crowd): void;
  lines(): Iterable<readonly [Line, Crowd]>;
}

/** A line that some crawlers may have, and who has it. */
interface Slot {
  readonly line: Line;
  crowd: Crowd;
}

/** Makes an empty draft for lines of the given patterns. */
export function createDraft(patterns: ReadonlySet<string>): Draft {
  const slots = new Map(Array.from(patterns, (pattern) => [pattern, slotsFor(pattern)]));
  const patternsAt = createPatternSearch(patterns);
  const slotsAt = remember((target: string): readonly Slot[] =>
    patternsAt(target)
      .flatMap((pattern) => slots.get(pattern) ?? [])
      .sort(byPrecedence),
  );
  return {
    add: ({ kind, pattern }, crowd) => {
      for (const slot of slots.get(pattern) ?? []) {
        slot.crowd = slot.line.kind === kind ? slot.crowd | crowd : slot.crowd & ~crowd;
      }
    },
    disallowed: (target) => {
      let decided = NOBODY;
      let disallowed = NOBODY;
      for (const { line, crowd } of slotsAt(target)) {
        if (line.kind === "disallow") disallowed |= crowd & ~decided;
        decided |= crowd;
      }
      return disallowed;
    },
    open: (target, crowd) => {
      let closed = crowd;
      for (const slot of slotsAt(target)) {
        if (slot.line.kind === "allow") closed &= ~slot.crowd;
        else slot.crowd &= ~closed;
      }
    },
    lines: () => [...slots.values()].flat().map(({ line, crowd }) => [line, crowd] as const),
  };
}

function slotsFor(pattern: string): readonly Slot[] {
  const kinds = ["allow", "disallow"] as const;
  return kinds.map((kind) => ({ line: { kind, pattern }, crowd: NOBODY }));
}

/** The longer pattern, and Allow of equals (RFC 9309 section 2.2.2). */
function byPrecedence({ line: left }: Slot, { line: right }: Slot): number {
  const kind = left.kind === right.kind ? 0 : left.kind === "allow" ? -1 : 1;
  return right.pattern.length - left.pattern.length || kind;
}

/** Finds the patterns that hold a path by the literals that they start with. */
function createPatternSearch(patterns: Iterable<string>): (target: string) => readonly string[] {
  const byHead = new Map<string, Held[]>();
  for (const pattern of patterns) {
    const head = headOf(pattern);
    const beside = byHead.get(head) ?? [];
    beside.push({ pattern, holds: testOf(pattern, head) });
    byHead.set(head, beside);
  }
  const startsOf = createStarts(new Set(byHead.keys()));
  return (target) =>
    startsOf(target)
      .flatMap((start) => byHead.get(start) ?? [])
      .filter(({ holds }) => holds(target))
      .map(({ pattern }) => pattern);
}

interface Held {
  readonly pattern: string;
  readonly holds: (target: string) => boolean;
}

/** Whether a pattern holds a path that starts as it does. */
function testOf(pattern: string, head: string): (target: string) => boolean {
  if (pattern.includes("*")) return createPatternTest(pattern);
  return pattern.endsWith("$") ? (target) => target === head : () => true;
}

/** What a pattern holds up to its first `*`, or to its end. */
function headOf(pattern: string): string {
  const star = pattern.indexOf("*");
  if (star >= 0) return pattern.slice(0, star);
  return pattern.endsWith("$") ? pattern.slice(0, -1) : pattern;
}
