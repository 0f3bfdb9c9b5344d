import type { RequestField, Term, TextTerm } from "./term.ts";

/** A test of a text against any number of values and prefixes; an error of the text is its own. */
export function textTerm(
  text: Term,
  exact: readonly string[],
  prefixes: readonly string[],
): TextTerm {
  const { needs, mayFail } = text;
  return { kind: "text", text, exact, prefixes, needs, mayFail };
}

/** Tests of the same input within a `||`, joined to one: they cannot fail, so order is free. */
export function mergeTexts(terms: readonly Term[]): readonly Term[] {
  const merged: Term[] = [];
  const places = new Map<RequestField, number>();
  for (const term of terms) {
    const field = testedField(term);
    const at = field === undefined ? -1 : (places.get(field) ?? -1);
    const before = merged[at];
    if (term.kind === "text" && before?.kind === "text") {
      merged[at] = joinTexts(before, term);
      continue;
    }
    if (field !== undefined) places.set(field, merged.length);
    merged.push(term);
  }
  return merged;
}

/** The field of the request that a term compares with constants, if it does just that. */
export function testedField(term: Term): RequestField | undefined {
  return term.kind === "text" && term.text.kind === "input" ? term.text.field : undefined;
}

function joinTexts(left: TextTerm, right: TextTerm): TextTerm {
  const exact = [...left.exact, ...right.exact];
  return textTerm(left.text, exact, [...left.prefixes, ...right.prefixes]);
}
