import { createPatternTest } from "./match.ts";
import { createStarts, type Starts } from "./starts.ts";

/** An Allow or Disallow line of a group. */
export interface Line {
  readonly kind: "allow" | "disallow";
  readonly pattern: string;
}

/** Lines that are being collected, asked as often as one is added. */
export interface Draft {
  /** A second line with the same pattern takes the place of the first. */
  add(line: Line): void;
  remove(line: Line): void;
  /** The line that decides a path, as a crawler that follows RFC 9309 would choose it. */
  decide(target: string): Line | undefined;
  lines(): readonly Line[];
}

/**
 * Makes drafts of which each line has one of the given patterns; no other would be found. A line is
 * looked up by the literal that it starts with, and one with `*` is tried only where that stands.
 */
export function createDrafts(patterns: Iterable<string>): () => Draft {
  const startsOf = createStarts(new Set(Array.from(patterns, headOf)));
  return () => createDraft(startsOf);
}

interface Wildcard {
  readonly line: Line;
  readonly holds: (target: string) => boolean;
}

function createDraft(startsOf: Starts): Draft {
  const wholes = new Map<string, Line>();
  const starts = new Map<string, Line>();
  const wildcards = new Map<string, Map<string, Wildcard>>();
  const addWildcard = (line: Line): void => {
    const head = headOf(line.pattern);
    const beside = wildcards.get(head) ?? new Map<string, Wildcard>();
    beside.set(line.pattern, { line, holds: createPatternTest(line.pattern) });
    wildcards.set(head, beside);
  };
  return {
    add: (line) => {
      if (line.pattern.includes("*")) addWildcard(line);
      else if (line.pattern.endsWith("$")) wholes.set(headOf(line.pattern), line);
      else starts.set(line.pattern, line);
    },
    remove: ({ pattern }) => {
      if (pattern.includes("*")) wildcards.get(headOf(pattern))?.delete(pattern);
      else if (pattern.endsWith("$")) wholes.delete(headOf(pattern));
      else starts.delete(pattern);
    },
    decide: (target) => {
      let best = wholes.get(target);
      for (const start of startsOf(target)) {
        best = moreSpecific(best ?? starts.get(start), wildcards.get(start), target);
      }
      return best;
    },
    lines: () => [
      ...wholes.values(),
      ...starts.values(),
      ...Array.from(wildcards.values()).flatMap((beside) =>
        Array.from(beside.values(), ({ line }) => line),
      ),
    ],
  };
}

/** The line that decides of one known to hold the target and of some that may. */
function moreSpecific(
  known: Line | undefined,
  wildcards: ReadonlyMap<string, Wildcard> | undefined,
  target: string,
): Line | undefined {
  if (wildcards === undefined) return known;
  let best = known;
  for (const { line, holds } of wildcards.values()) {
    if (takesPrecedence(line, best) && holds(target)) best = line;
  }
  return best;
}

/** What a pattern holds up to its first `*`, or to its end. */
function headOf(pattern: string): string {
  const star = pattern.indexOf("*");
  if (star >= 0) return pattern.slice(0, star);
  return pattern.endsWith("$") ? pattern.slice(0, -1) : pattern;
}

/** The longer pattern, and Allow of equals (RFC 9309 section 2.2.2). */
function takesPrecedence(line: Line, other: Line | undefined): boolean {
  if (other === undefined) return true;
  const difference = line.pattern.length - other.pattern.length;
  return difference > 0 || (difference === 0 && line.kind === "allow");
}
