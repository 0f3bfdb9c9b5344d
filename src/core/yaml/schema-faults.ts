import { z } from "zod";
import { nearest } from "../nearest.ts";
import type { Fault } from "../policy/fault.ts";
import type { Path, SourceDocument } from "./document.ts";

type Issue = z.core.$ZodIssue;

/** Longest piece of the operator's own text that a message repeats. */
const LONGEST_QUOTE = 60;

/** A path as a person would write it: `rules[2].action.status`. */
export function formatPath(path: Path): string {
  return path
    .map((step, index) => {
      if (typeof step === "number") return `[${step}]`;
      if (!/^[\w-]+$/.test(step)) return `[${JSON.stringify(step)}]`;
      return index === 0 ? step : `.${step}`;
    })
    .join("");
}

/** The operator's words, in backticks, cut and on one line. */
export function quote(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
  const flat = text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}`]/gu, (character) => {
    const escaped = JSON.stringify(character).slice(1, -1);
    return escaped === character ? "?" : escaped;
  });
  return flat.length > LONGEST_QUOTE ? `\`${flat.slice(0, LONGEST_QUOTE)}…\`` : `\`${flat}\``;
}

/** A fault at the value of a path. */
export function faultAt(document: SourceDocument, path: Path, message: string): Fault {
  return { file: document.file, ...document.at(path), path: formatPath(path), message };
}

/** A fault at the last key of a path. */
function faultAtKey(document: SourceDocument, path: Path, message: string): Fault {
  return { file: document.file, ...document.keyAt(path), path: formatPath(path), message };
}

/** What a schema says against a document, as faults with their places. */
export function faultsOf(document: SourceDocument, issues: readonly Issue[]): readonly Fault[] {
  const findings = issues.flatMap((issue) => translate(document, issue, []));
  const explained = new Set(findings.flatMap(({ explains }) => explains));
  return findings
    .filter(({ fault, mayBeEcho }) => !(mayBeEcho && explained.has(fault.path)))
    .map(({ fault }) => fault);
}

/**
 * A misspelt key explains that the right one is missing, and what the map around it lacks: such echoes
 * are not told.
 */
interface Finding {
  readonly fault: Fault;
  /** Paths at which an echo of this may be found. */
  readonly explains: readonly string[];
  readonly mayBeEcho: boolean;
}

/**
 * For `safeParse`: issues carry their input, and the message of an unknown key is the list of the keys
 * that are known there, as `faultsOf` expects.
 */
export const ISSUE_OPTIONS: z.core.ParseContext<Issue> = {
  reportInput: true,
  error: (issue) => {
    const keys = issue.code === "unrecognized_keys" ? issue.inst : undefined;
    return keys instanceof z.ZodObject ? Object.keys(keys.shape).join(" ") : undefined;
  },
};

function translate(document: SourceDocument, issue: Issue, above: Path): readonly Finding[] {
  const path = [...above, ...issue.path.filter((step) => typeof step !== "symbol")];
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => unknownKey(document, path, key, issue.message));
    case "invalid_union":
      return fromUnion(document, issue, path);
    case "invalid_key": {
      const message = `${quote(path.at(-1))} ${issue.issues[0]?.message}`;
      return [{ fault: faultAtKey(document, path, message), explains: [], mayBeEcho: false }];
    }
    case "invalid_type":
      return [findingAt(document, path, issue, wrongType(issue.input, adviceOf(issue)))];
    case "invalid_value": {
      const message = unknownValue(issue.input, issue.values, issue.message);
      return [findingAt(document, path, issue, message)];
    }
    case "too_small":
    case "too_big":
    case "invalid_format":
    case "not_multiple_of":
    case "invalid_element":
    case "custom":
      return [findingAt(document, path, issue, wrongValue(issue))];
  }
}

function findingAt(document: SourceDocument, path: Path, issue: Issue, message: string): Finding {
  const isAboutMap = issue.code === "custom" && typeof issue.input === "object";
  const mayBeEcho = issue.input === undefined || isAboutMap;
  return { fault: faultAt(document, path, message), explains: [], mayBeEcho };
}

function unknownKey(document: SourceDocument, map: Path, key: string, known: string): Finding {
  const keys = known.split(" ");
  const near = nearest(key, keys);
  const advice = near === undefined ? `known here: ${listOf(keys)}` : `did you mean \`${near}\`?`;
  const fault = faultAtKey(document, [...map, key], `unknown key ${quote(key)}; ${advice}`);
  const explains = near === undefined ? [] : [formatPath(map), formatPath([...map, near])];
  return { fault, explains, mayBeEcho: false };
}

const MISSING = "required key is missing";

const TYPE_ADVICE: Readonly<Record<string, string>> = {
  string: "write a text",
  boolean: "write `true` or `false`",
  int: "write a whole number",
  number: "write a whole number",
  array: "write a list",
  object: "write a map",
  record: "write a map",
};

function adviceOf(issue: z.core.$ZodIssueInvalidType): string {
  const own = issue.message.split("; ", 2)[1];
  if (own !== undefined) return own;
  const isUnquoted = typeof issue.input === "number" || typeof issue.input === "boolean";
  if (issue.expected === "string" && isUnquoted) return "put it in quotes to make it a text";
  return TYPE_ADVICE[issue.expected] ?? `write a ${issue.expected}`;
}

function wrongType(input: unknown, advice: string): string {
  if (input === undefined) return MISSING;
  if (input === null) return `is empty; ${advice}`;
  if (Array.isArray(input)) return `a list stands here; ${advice}`;
  if (typeof input === "object") return `a map stands here; ${advice}`;
  return `${quote(input)} is a ${typeof input === "string" ? "text" : typeof input}; ${advice}`;
}

function unknownValue(input: unknown, values: readonly unknown[], message: string): string {
  const known = values.map(String);
  const advice = message.split("; ", 2)[1] ?? oneOf(known);
  if (input === undefined) return `${MISSING}; ${advice}`;
  if (typeof input !== "string") return wrongType(input, advice);
  const near = nearest(input, known);
  return `unknown value ${quote(input)}; ${near === undefined ? advice : `did you mean \`${near}\`?`}`;
}

function oneOf(known: readonly string[]): string {
  return known.length === 1 ? `write ${listOf(known)}` : `write one of ${listOf(known)}`;
}

function listOf(words: readonly string[]): string {
  return words.map((word) => `\`${word}\``).join(", ");
}

/** A message about a text or a number follows it; one about a map or a list is whole. */
function wrongValue(issue: Issue): string {
  const { input } = issue;
  if (Array.isArray(input) && issue.code === "too_small") return "is empty; write at least one";
  if (Array.isArray(input) && issue.code === "too_big") {
    return `is too long; at most ${issue.maximum} entries`;
  }
  const isQuoted = typeof input === "number" || (typeof input === "string" && input !== "");
  return isQuoted ? `${quote(input)} ${issue.message}` : issue.message;
}

function fromUnion(
  document: SourceDocument,
  issue: z.core.$ZodIssueInvalidUnion,
  path: Path,
): readonly Finding[] {
  const { input } = issue;
  if (issue.discriminator !== undefined) {
    const typed = typeof input === "object" && input !== null ? Object.entries(input) : [];
    const written: unknown = typed.find(([key]) => key === issue.discriminator)?.[1];
    const options = "options" in issue ? (issue.options ?? []) : [];
    return [findingAt(document, path, issue, unknownValue(written, options, ""))];
  }
  const [closest] = issue.errors
    .map((errors) => ({ errors, weight: weightOf(errors) }))
    .sort((left, right) => left.weight - right.weight);
  if (closest !== undefined && closest.weight < Number.POSITIVE_INFINITY) {
    return closest.errors.flatMap((error) => translate(document, error, path));
  }
  const advice = issue.message.split("; ", 2)[1] ?? "";
  return [findingAt(document, path, issue, wrongType(input, advice))];
}

/** What a missing key weighs against an unknown one, when the branch that was meant is told. */
const MISSING_WEIGHT = 10;

/** How far a value is from one branch of a union; infinite when it has another type altogether. */
function weightOf(errors: readonly Issue[]): number {
  if (errors.some(isOfAnotherType)) return Number.POSITIVE_INFINITY;
  return errors.reduce((sum, error) => sum + weightOfOne(error), 0);
}

function weightOfOne(error: Issue): number {
  if (error.code === "unrecognized_keys") return error.keys.length;
  return error.input === undefined ? MISSING_WEIGHT : 1;
}

function isOfAnotherType(error: Issue): boolean {
  if (error.path.length > 0) return false;
  return error.code === "invalid_type" || (error.code === "invalid_value" && !isChoice(error));
}

function isChoice(error: Issue): boolean {
  return error.code === "invalid_value" && typeof error.input === "string";
}
