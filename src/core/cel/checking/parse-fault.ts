import type { CelEnvironment } from "../environment.ts";
import { type ExpressionFault, placeAt } from "./places.ts";

/** The fault of an expression with too many parts within one another. */
export const TOO_DEEP: ExpressionFault = {
  line: 1,
  column: 1,
  message: "is nested too deeply; split the rule",
};

/** Turns what the parser threw into a fault with a place and, where it can be told, a remedy. */
export function explainSyntax(
  source: string,
  error: unknown,
  environment: CelEnvironment,
): ExpressionFault {
  if (source.trim() === "") return { line: 1, column: 1, message: "the condition is empty" };
  if (error instanceof RangeError) {
    return TOO_DEEP;
  }
  const offset = Math.min(offsetOf(error), source.length);
  const dashed = findDashedName(source, offset, environment);
  if (dashed !== undefined) return { ...placeAt(source, offset), message: dashed };
  const rest = source.slice(offset).trimStart();
  const at = source.length - rest.length;
  if (rest === "") return { ...placeAt(source, source.length), message: "ends too early" };
  const word = /^(?:[A-Za-z0-9_]+|[^\sA-Za-z0-9_'"]{1,3}|.)/.exec(rest)?.[0] ?? rest.slice(0, 1);
  return {
    ...placeAt(source, at),
    message: `cannot read on from \`${word}\`${remedy(word, rest)}`,
  };
}

function offsetOf(error: unknown): number {
  if (!(error instanceof Error) || !("location" in error)) return 0;
  const { location } = error;
  if (typeof location !== "object" || location === null || !("start" in location)) return 0;
  const { start } = location;
  if (typeof start !== "object" || start === null || !("offset" in start)) return 0;
  return typeof start.offset === "number" ? start.offset : 0;
}

/** `request.headers.x-forwarded-for`, where `for` is a word of the language, and the like. */
function findDashedName(
  source: string,
  offset: number,
  environment: CelEnvironment,
): string | undefined {
  for (const match of source.matchAll(
    /\b(request\.headers|sets)\.([A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)+)/g,
  )) {
    const [whole, object = "", name = ""] = match;
    if (offset < match.index || offset > match.index + whole.length) continue;
    if (object === "sets" && environment.objects.get("sets")?.fields.has(name) !== true) continue;
    const key = object === "sets" ? name : name.toLowerCase();
    return `\`-\` is subtraction; write \`${object}["${key}"]\``;
  }
  return undefined;
}

const REMEDIES: ReadonlyMap<string, string> = new Map([
  ["and", "&&"],
  ["AND", "&&"],
  ["&", "&&"],
  ["or", "||"],
  ["OR", "||"],
  ["|", "||"],
  ["not", "!"],
  ["=", "=="],
  ["=~", ".matches(…)"],
  ["~=", ".matches(…)"],
]);

function remedy(word: string, rest: string): string {
  const right = word === "===" ? "==" : REMEDIES.get(word);
  if (right !== undefined) return `; did you mean \`${right}\`?`;
  if (hasOpenText(rest)) return "; is the text closed?";
  return word.startsWith(".") ? "; is every bracket closed?" : "";
}

/** Whether a quoted text starts and does not end on the first line. */
function hasOpenText(rest: string): boolean {
  let open = "";
  for (const character of rest.split("\n")[0] ?? "") {
    if (open === character) open = "";
    else if (open === "" && (character === "'" || character === '"')) open = character;
  }
  return open !== "";
}
