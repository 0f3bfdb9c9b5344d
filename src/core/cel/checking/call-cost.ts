import { patternCost } from "../patterns.ts";

/** What is known of a value before there is a request: how long it can be. */
export interface Size {
  /** Characters of a text, items of a list or a map; 1 for anything else. */
  readonly length: number;
  /** Characters of the longest item, where there are items. */
  readonly item: number;
  /** Characters of all items together. */
  readonly total: number;
}

/** What evaluating a part takes at most, and how long its value can be. */
export interface Estimate extends Size {
  /** A step is about 50 ns of one core. */
  readonly steps: number;
}

/** Longest text of a client that estimates reckon with: a path has 8 KiB at most. */
export const CLIENT_TEXT = 8192;

/** A value without a length. */
export const SCALAR: Size = { length: 1, item: 1, total: 1 };

/** A text of so many characters. */
export function textSize(length: number): Size {
  return { length, item: 1, total: length };
}

/** Characters that a step compares or copies. */
const CHARACTERS_A_STEP = 64;
/** Characters that a step compares in a search that goes back again and again. */
const SLOW_CHARACTERS_A_STEP = 16;
/** Characters that a step turns, one by one, into others. */
const CHARACTERS_TURNED_A_STEP = 8;
/** A pattern is looked for in linear time up to this length; beyond, texts are multiplied. */
const SHORT_PATTERN = 1024;

type Cost = (args: readonly Estimate[], literal: string | undefined) => Estimate;

/** What a call takes, over and above its arguments; `literal` is its last argument as written. */
export function estimateCall(
  name: string,
  args: readonly Estimate[],
  literal: string | undefined,
): Estimate {
  return (COSTS.get(name) ?? scalar(1))(args, literal);
}

function scalar(steps: number): Cost {
  return () => ({ ...SCALAR, steps });
}

const compare: Cost = ([left = NOTHING, right = NOTHING]) => {
  const shared = Math.min(left.total, right.total);
  return { ...SCALAR, steps: 1 + shared / CHARACTERS_A_STEP };
};

const search: Cost = ([text = NOTHING, pattern = NOTHING]) => ({
  ...SCALAR,
  steps: searchSteps(text.length, pattern.length),
});

const turn: Cost = ([text = NOTHING]) => ({
  ...textSize(text.length),
  steps: 1 + text.length / CHARACTERS_TURNED_A_STEP,
});

const part: Cost = ([text = NOTHING]) => ({ ...textSize(text.length), steps: 1 });

const walk: Cost = ([text = NOTHING]) => ({
  ...SCALAR,
  steps: 1 + text.length / CHARACTERS_TURNED_A_STEP,
});

const join: Cost = ([left = NOTHING, right = NOTHING]) => ({
  length: left.length + right.length,
  item: Math.max(left.item, right.item),
  total: left.total + right.total,
  steps: 1 + (left.length + right.length) / CHARACTERS_A_STEP,
});

const joinList: Cost = ([list = NOTHING, separator = NOTHING]) => {
  const length = list.total + list.length * separator.length;
  return { ...textSize(length), steps: list.length + length / CHARACTERS_A_STEP };
};

/** The pieces of a text are together no longer than the text. */
const split: Cost = ([text = NOTHING, separator = NOTHING]) => ({
  length: text.length,
  item: text.length,
  total: text.length,
  steps: text.length / 2 + searchSteps(text.length, separator.length),
});

const replace: Cost = ([text = NOTHING, pattern = NOTHING, replacement = NOTHING]) => {
  const length = text.length + (text.length / Math.max(1, pattern.length)) * replacement.length;
  return { ...textSize(length), steps: searchSteps(text.length, pattern.length) + length / 4 };
};

const contained: Cost = ([value = NOTHING, container = NOTHING]) => ({
  ...SCALAR,
  steps: container.length * (1 + Math.min(value.length, container.item) / CHARACTERS_A_STEP),
});

/** Each character may be tried against every instruction, and slower where `^` or `\b` are. */
const match: Cost = ([text = NOTHING], literal) => ({
  ...SCALAR,
  steps: 50 + text.length * patternCost(literal ?? ""),
});

const element: Cost = ([list = NOTHING]) => ({ ...textSize(list.item), steps: 2 });

const COSTS: ReadonlyMap<string, Cost> = new Map<string, Cost>([
  ...["_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "startsWith", "endsWith", "pathUnder"].map(
    (name): [string, Cost] => [name, compare],
  ),
  ...["contains", "indexOf", "lastIndexOf"].map((name): [string, Cost] => [name, search]),
  ...["lowerAscii", "upperAscii", "trim", "strings.quote"].map((name): [string, Cost] => [
    name,
    turn,
  ]),
  ...["size", "double", "bool"].map((name): [string, Cost] => [name, walk]),
  ...["substring", "charAt", "string"].map((name): [string, Cost] => [name, part]),
  // A number of many digits is read in time that grows with their square.
  ["int", ([text = NOTHING]) => ({ ...SCALAR, steps: 1 + text.length })],
  ["uint", ([text = NOTHING]) => ({ ...SCALAR, steps: 1 + text.length })],
  ["_+_", join],
  ["join", joinList],
  ["split", split],
  ["replace", replace],
  ["@in", contained],
  ["matches", match],
  ["_[_]", element],
  ["header", () => ({ ...textSize(CLIENT_TEXT), steps: 4 })],
  ["inCidr", scalar(10)],
]);

const NOTHING: Estimate = { ...SCALAR, steps: 0 };

function searchSteps(text: number, pattern: number): number {
  if (pattern > SHORT_PATTERN) return 1 + (text * pattern) / SLOW_CHARACTERS_A_STEP;
  return 1 + (text * (1 + pattern / CHARACTERS_A_STEP)) / CHARACTERS_A_STEP;
}
