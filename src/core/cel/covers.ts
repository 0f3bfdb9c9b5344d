import { innerTerms } from "./foreign.ts";
import { type Term, type TextTerm, TRUE } from "./term.ts";

/**
 * Whether `wide` is surely true whenever `narrow` is. False where that cannot be told from their
 * shapes alone.
 */
export function covers(wide: Term, narrow: Term): boolean {
  if (wide === TRUE || isSameTerm(wide, narrow)) return true;
  if (narrow.kind === "every") return narrow.terms.some((part) => covers(wide, part));
  if (narrow.kind === "some") return narrow.terms.every((part) => covers(wide, part));
  if (wide.kind === "some") return wide.terms.some((part) => covers(part, narrow));
  if (wide.kind === "every") return wide.terms.every((part) => covers(part, narrow));
  return wide.kind === "text" && narrow.kind === "text" && coversTexts(wide, narrow);
}

function coversTexts(wide: TextTerm, narrow: TextTerm): boolean {
  if (!isSameTerm(wide.text, narrow.text)) return false;
  const isPrefixed = (text: string) => wide.prefixes.some((prefix) => text.startsWith(prefix));
  return (
    narrow.prefixes.every(isPrefixed) &&
    narrow.exact.every((text) => wide.exact.includes(text) || isPrefixed(text))
  );
}

/** Whether two terms are written alike, so that they have the same value. */
export function isSameTerm(left: Term, right: Term): boolean {
  if (left === right) return true;
  if (left.kind !== right.kind || !hasSameMark(left, right)) return false;
  const parts = innerTerms(left);
  const others = innerTerms(right);
  return (
    parts.length === others.length &&
    parts.every((part, index) => {
      const other = others[index];
      return other !== undefined && isSameTerm(part, other);
    })
  );
}

/** Whether what two terms of one kind hold besides their parts is the same. */
function hasSameMark(left: Term, right: Term): boolean {
  switch (left.kind) {
    case "value":
      // Lists and maps are the same only as one object: a set is, a literal is not.
      return right.kind === "value" && left.value === right.value;
    case "input":
    case "bot":
      return (right.kind === "input" || right.kind === "bot") && left.field === right.field;
    case "variable":
      return right.kind === "variable" && left.slot === right.slot;
    case "call":
      return right.kind === "call" && left.name === right.name && left.isMethod === right.isMethod;
    case "loop":
      return right.kind === "loop" && left.macro === right.macro && left.slot === right.slot;
    case "text":
      return right.kind === "text" && hasSameTexts(left, right);
    case "every":
    case "some":
    case "choice":
    case "lookup":
    case "has":
    case "headers":
    case "list":
      return true;
    case "failure":
    case "address":
    case "foreign":
      return false;
  }
}

function hasSameTexts(left: TextTerm, right: TextTerm): boolean {
  const isSame = (some: readonly string[], others: readonly string[]) =>
    some === others ||
    (some.length === others.length && some.every((text, index) => text === others[index]));
  return isSame(left.exact, right.exact) && isSame(left.prefixes, right.prefixes);
}
