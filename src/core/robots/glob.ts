/** A test of a text that robots.txt can come close to: pieces in this order, anything in between. */
export interface Glob {
  readonly pieces: readonly [string, ...string[]];
  /** Whether the first piece must stand at the start. */
  readonly isStart: boolean;
  /** Whether the last piece must stand at the end. */
  readonly isEnd: boolean;
}

/** Most globs that one regular expression may stand for. */
const MAX_ALTERNATIVES = 32;

/** Each piece is taken at its first place, so that later ones have the most room: no trial is needed. */
export function matchesGlob(text: string, glob: Glob): boolean {
  const { pieces, isStart, isEnd } = glob;
  const last = pieces.at(-1) ?? "";
  if (isStart && isEnd && pieces.length === 1) return text === last;
  if (isStart && !text.startsWith(pieces[0])) return false;
  const position = placeAfter(text, isEnd ? pieces.slice(0, -1) : pieces);
  if (position < 0 || !isEnd) return position >= 0;
  return text.length - last.length >= position && text.endsWith(last);
}

/** Where the pieces end, taken in order; -1 where one is missing. */
function placeAfter(text: string, pieces: readonly string[]): number {
  let position = 0;
  for (const piece of pieces) {
    const found = text.indexOf(piece, position);
    if (found < 0) return -1;
    position = found + piece.length;
  }
  return position;
}

/**
 * The globs of which a text matches one exactly where it matches a regular expression (RE2), or
 * undefined where there are none: `.` alone, `+`, counts, wide classes, flags.
 */
export function globsOfPattern(pattern: string): readonly Glob[] | undefined {
  const parsed = parseAlternatives(pattern, 0);
  if (parsed === undefined || parsed.end !== pattern.length) return undefined;
  const globs: Glob[] = [];
  for (const items of parsed.alternatives) {
    const glob = globOf(items);
    if (glob === undefined) return undefined;
    globs.push(glob);
  }
  return globs;
}

type Item = { readonly kind: "text"; readonly text: string } | { readonly kind: Anchor };
type Anchor = "any" | "start" | "end";
type Items = readonly Item[];

interface Parsed {
  readonly alternatives: readonly Items[];
  readonly end: number;
}

function globOf(items: Items): Glob | undefined {
  const isStart = items[0]?.kind === "start";
  const isEnd = items.length > 0 && items.at(-1)?.kind === "end";
  const inner = items.slice(isStart ? 1 : 0, isEnd ? -1 : undefined);
  const pieces: string[] = [""];
  for (const item of inner) {
    if (item.kind === "any") pieces.push("");
    else if (item.kind === "text") pieces.push(`${pieces.pop()}${item.text}`);
    else return undefined;
  }
  return normalGlob(pieces, isStart, isEnd);
}

/** `.*` at an end is no anchor there. */
function normalGlob(written: readonly string[], isStart: boolean, isEnd: boolean): Glob {
  const startsOpen = written.length > 1 && written[0] === "";
  const endsOpen = written.length > 1 && written.at(-1) === "";
  const [first = "", ...rest] = written.filter((piece) => piece !== "");
  return {
    pieces: [first, ...rest],
    isStart: isStart && !startsOpen,
    isEnd: isEnd && !endsOpen,
  };
}

function parseAlternatives(pattern: string, start: number): Parsed | undefined {
  const alternatives: Items[] = [];
  let end = start;
  for (;;) {
    const sequence = parseSequence(pattern, end);
    if (sequence === undefined) return undefined;
    alternatives.push(...sequence.alternatives);
    end = sequence.end;
    if (alternatives.length > MAX_ALTERNATIVES) return undefined;
    if (pattern[end] !== "|") return { alternatives, end };
    end++;
  }
}

function parseSequence(pattern: string, start: number): Parsed | undefined {
  let alternatives: readonly Items[] = [[]];
  let end = start;
  while (end < pattern.length && pattern[end] !== "|" && pattern[end] !== ")") {
    const atom = parseAtom(pattern, end);
    if (atom === undefined) return undefined;
    const repeated = withQuantifier(pattern, atom);
    if (repeated === undefined) return undefined;
    end = repeated.end;
    alternatives = alternatives.flatMap((left) =>
      repeated.alternatives.map((right) => [...left, ...right]),
    );
    if (alternatives.length > MAX_ALTERNATIVES) return undefined;
  }
  return { alternatives, end };
}

/** `x?` is x or nothing; other repetitions have no glob. */
function withQuantifier(pattern: string, atom: Parsed): Parsed | undefined {
  const quantifier = pattern[atom.end];
  if (quantifier === "?") {
    const end = atom.end + (pattern[atom.end + 1] === "?" ? 2 : 1);
    return { alternatives: [...atom.alternatives, []], end };
  }
  return quantifier !== undefined && "*+{".includes(quantifier) ? undefined : atom;
}

function parseAtom(pattern: string, start: number): Parsed | undefined {
  const character = pattern.charAt(start);
  switch (character) {
    case "(":
      return parseGroup(pattern, start);
    case "[":
      return parseClass(pattern, start);
    case "\\":
      return parseEscape(pattern, start);
    case ".":
      return parseAny(pattern, start);
    case "^":
      return only({ kind: "start" }, start + 1);
    case "$":
      return only({ kind: "end" }, start + 1);
    case "*":
    case "+":
    case "?":
    case "{":
      return undefined;
    default:
      return only({ kind: "text", text: character }, start + 1);
  }
}

function only(item: Item, end: number): Parsed {
  return { alternatives: [[item]], end };
}

function parseAny(pattern: string, start: number): Parsed | undefined {
  if (pattern[start + 1] !== "*") return undefined;
  return only({ kind: "any" }, start + (pattern[start + 2] === "?" ? 3 : 2));
}

/** A punctuation mark that stands for itself; `\d`, `\b` and others do not. */
function parseEscape(pattern: string, start: number): Parsed | undefined {
  const text = pattern.charAt(start + 1);
  return /^[!-/:-@[-`{-~]$/.test(text) ? only({ kind: "text", text }, start + 2) : undefined;
}

function parseGroup(pattern: string, start: number): Parsed | undefined {
  const isPlain = pattern[start + 1] !== "?";
  if (!isPlain && !pattern.startsWith("(?:", start)) return undefined;
  const inner = parseAlternatives(pattern, start + (isPlain ? 1 : 3));
  if (inner === undefined || pattern[inner.end] !== ")") return undefined;
  return { alternatives: inner.alternatives, end: inner.end + 1 };
}

/** A short class of letters, digits and a few marks, ranges included. */
function parseClass(pattern: string, start: number): Parsed | undefined {
  const body = /^\[((?:[A-Za-z0-9_/.]|-)+)\]/.exec(pattern.slice(start, start + 64))?.[1];
  if (body === undefined) return undefined;
  const characters = new Set<string>();
  for (const [, first = "", last = first] of body.matchAll(/([^-])(?:-([^-]))?|-/g)) {
    const from = first.charCodeAt(0);
    const to = last.charCodeAt(0);
    if (!(to >= from && to - from < MAX_ALTERNATIVES)) return undefined;
    for (let code = from; code <= to; code++) characters.add(String.fromCharCode(code));
  }
  const alternatives = Array.from(characters, (text): Items => [{ kind: "text", text }]);
  return { alternatives, end: start + body.length + 2 };
}
