import { RE2JS } from "@bufbuild/re2";
import { hasMoreStates } from "./pattern-states.ts";

/** A compiled regular expression. */
export interface Pattern {
  /** Whether it is found anywhere in the text; linear in the length of the text. */
  test(text: string): boolean;
}

/** Longest pattern that a rule may hold, in UTF-16 code units. */
const MAX_PATTERN_LENGTH = 1000;

/** Most instructions that a pattern may compile to: `(a{1,100}){1,100}` is short, and large. */
const MAX_PATTERN_INSTRUCTIONS = 2000;

/** Most states of a pattern's automaton; the engine keeps each that a text has asked for. */
const MAX_PATTERN_STATES = 1000;

/** The engine remembers each character beyond ASCII: after so many it is made anew. */
const MAX_REMEMBERED = 65_536;

/** Compiles RE2 syntax. Throws an Error whose message says what is wrong with the pattern. */
export function compilePattern(pattern: string): Pattern {
  let engine = RE2JS.compile(pattern);
  let remembered = 0;
  return {
    test: (text) => {
      if (isBeyondAscii(text)) remembered += text.length;
      if (remembered > MAX_REMEMBERED) {
        engine = RE2JS.compile(pattern);
        remembered = 0;
      }
      return engine.test(text);
    },
  };
}

function isBeyondAscii(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is what it looks for
  return /[^\x00-\x7f]/.test(text);
}

/** What is wrong with a pattern, as a phrase that follows it; undefined when nothing is. */
export function findPatternFault(pattern: string): string | undefined {
  if (pattern.length > MAX_PATTERN_LENGTH) {
    return `is longer than ${MAX_PATTERN_LENGTH} characters; split the rule`;
  }
  try {
    const engine = RE2JS.compile(pattern).re2();
    const instructions = engine.prog.numInst();
    if (instructions > MAX_PATTERN_INSTRUCTIONS) {
      return `compiles to ${instructions} instructions, over the limit of ${MAX_PATTERN_INSTRUCTIONS}; use smaller repetitions`;
    }
    if (hasMoreStates(engine, MAX_PATTERN_STATES)) {
      return `needs more than ${MAX_PATTERN_STATES} states, which a client could make slow; use smaller repetitions of what overlaps`;
    }
    return undefined;
  } catch (error) {
    return `is not RE2 syntax: ${error instanceof Error ? reasonOf(error) : String(error)}`;
  }
}

/** The engine's number of `^`, `$` and `\b`. */
const LOOK_AROUND = 4;

/** What a character of the text costs at most, in steps of 50 ns, for a pattern without faults. */
export function patternCost(pattern: string): number {
  const { prog } = RE2JS.compile(pattern).re2();
  const slow = prog.inst.some(({ op }) => op === LOOK_AROUND) ? 10 : 0;
  return slow + prog.numInst() / 16;
}

/** The engine's message without its own introduction. */
function reasonOf(error: Error): string {
  return error.message.replace(/^error parsing regexp: /, "");
}
