import { isSameTerm } from "./covers.ts";
import { innerTerms } from "./foreign.ts";
import type { Term } from "./term.ts";

/** What each of these functions makes an error of. */
const FALLIBLE: ReadonlyMap<string, string> = new Map([
  ["int", "a text that is no whole number"],
  ["uint", "a text that is no whole number, or is negative"],
  ["bool", "a text that is neither `true` nor `false`"],
  ["charAt", "a position beyond the text"],
  ["substring", "a position beyond the text"],
]);

/**
 * Parts of a condition that a client's request can turn into an error, as phrases. Look-ups of
 * header fields are told by the checker, with their places. A part is taken to be guarded where an
 * `&&` or `?:` around it asks something else about the same value.
 */
export function findFallible(term: Term): readonly string[] {
  const found = new Set<string>();
  walk(term, [], found);
  return [...found];
}

function walk(term: Term, beside: readonly Term[], found: Set<string>): void {
  if (!term.mayFail) return;
  const phrase = phraseOf(term);
  const [subject] = innerTerms(term);
  if (phrase !== undefined && subject !== undefined && !isGuarded(subject, beside)) {
    found.add(phrase);
  }
  const parts = innerTerms(term);
  const guards = term.kind === "every" || term.kind === "choice" ? parts : [];
  for (const part of parts) {
    walk(part, [...beside, ...guards.filter((guard) => guard !== part)], found);
  }
}

function phraseOf(term: Term): string | undefined {
  if (term.kind === "call") {
    const cause = FALLIBLE.get(term.name);
    return cause === undefined ? undefined : `\`${term.name}\` of ${cause}`;
  }
  if (term.kind !== "lookup" || term.operand.kind === "headers") return undefined;
  return "`[ ]` with a place that the list has not";
}

function isGuarded(subject: Term, beside: readonly Term[]): boolean {
  return beside.some((term) => mentions(term, subject));
}

function mentions(term: Term, subject: Term): boolean {
  return isSameTerm(term, subject) || innerTerms(term).some((part) => mentions(part, subject));
}
