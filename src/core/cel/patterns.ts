import { RE2JS } from "@bufbuild/re2";

/** A compiled regular expression. */
export interface Pattern {
  /** Whether it is found anywhere in the text; linear in the length of the text. */
  test(text: string): boolean;
}

/** Longest pattern that a rule may hold, in UTF-16 code units. */
const MAX_PATTERN_LENGTH = 1000;

/**
 * Most instructions that a pattern may compile to. A step over one character of a client's text
 * costs at most this many, so that `(a{1,100}){1,100}` cannot make a short text expensive.
 */
const MAX_PATTERN_INSTRUCTIONS = 2000;

/** Compiles RE2 syntax. Throws an Error whose message says what is wrong with the pattern. */
export function compilePattern(pattern: string): Pattern {
  return RE2JS.compile(pattern);
}

/** What is wrong with a pattern, as a phrase that follows it; undefined when nothing is. */
export function findPatternFault(pattern: string): string | undefined {
  if (pattern.length > MAX_PATTERN_LENGTH) {
    return `is longer than ${MAX_PATTERN_LENGTH} characters; split the rule`;
  }
  try {
    const instructions = RE2JS.compile(pattern).re2().prog.numInst();
    if (instructions <= MAX_PATTERN_INSTRUCTIONS) return undefined;
    return `compiles to ${instructions} instructions, over the limit of ${MAX_PATTERN_INSTRUCTIONS}; use smaller repetitions`;
  } catch (error) {
    return `is not RE2 syntax: ${error instanceof Error ? reasonOf(error) : String(error)}`;
  }
}

/** The engine's message without its own introduction. */
function reasonOf(error: Error): string {
  return error.message.replace(/^error parsing regexp: /, "");
}
