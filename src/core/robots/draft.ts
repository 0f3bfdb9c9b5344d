import { createPathMatcher, type PathMatcher } from "./match.ts";

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

interface Wildcard {
  readonly line: Line;
  readonly matcher: PathMatcher;
}

/** Lines without `*` are found by their text, whose number hardly matters; the others are tried. */
export function createDraft(): Draft {
  const plain = new Map<string, Line>();
  const wildcards = new Map<string, Wildcard>();
  // Of the patterns in `plain`, descending; one that is gone does no harm.
  let lengths: readonly number[] = [];
  const longestPrefix = (target: string): Line | undefined => {
    for (const length of lengths) {
      const line = length > target.length ? undefined : plain.get(target.slice(0, length));
      if (line !== undefined) return line;
    }
    return undefined;
  };
  return {
    add: (line) => {
      const { length } = line.pattern;
      if (line.pattern.includes("*")) {
        const matcher = createPathMatcher([{ ...line, line: 1 }]);
        wildcards.set(line.pattern, { line, matcher });
      } else {
        plain.set(line.pattern, line);
        if (!lengths.includes(length)) lengths = [...lengths, length].sort((a, b) => b - a);
      }
    },
    remove: (line) => {
      plain.delete(line.pattern);
      wildcards.delete(line.pattern);
    },
    decide: (target) => {
      let best = plain.get(`${target}$`) ?? longestPrefix(target);
      for (const { line, matcher } of wildcards.values()) {
        if (takesPrecedence(line, best) && matcher(target).rule !== undefined) best = line;
      }
      return best;
    },
    lines: () => [...plain.values(), ...Array.from(wildcards.values(), ({ line }) => line)],
  };
}

/** The longer pattern, and Allow of equals (RFC 9309 section 2.2.2). */
function takesPrecedence(line: Line, other: Line | undefined): boolean {
  if (other === undefined) return true;
  const difference = line.pattern.length - other.pattern.length;
  return difference > 0 || (difference === 0 && line.kind === "allow");
}
