import { type Document, isScalar, Scalar, visit, type YAMLError } from "yaml";
import { quote } from "./schema-faults.ts";

/** What is wrong with the YAML of a text, and the offset at which it is. */
export interface YamlFault {
  readonly offset: number;
  readonly message: string;
}

/** Errors and warnings of the parser, in words for whoever writes a policy. */
export function yamlFaults(yaml: Document, text: string): readonly YamlFault[] {
  return [...yaml.errors, ...yaml.warnings].map((error) => ({
    offset: isUnclosedQuote(error) ? lastQuote(yaml) : error.pos[0],
    message: describe(error, text),
  }));
}

type Advice = readonly [code: string, part: string, message: string];

/** Conditions are full of what YAML takes for its own; the remedy is the same. */
const ADVICE: readonly Advice[] = [
  ["MULTIPLE_DOCS", "", "a file holds one document; remove the second `---`"],
  ["TAB_AS_INDENT", "", "a tab cannot indent; use spaces"],
  ["MISSING_CHAR", "Missing closing", "this quote is never closed"],
  [
    "BLOCK_AS_IMPLICIT_KEY",
    "Nested",
    "YAML takes the second `: ` for a map; put the text in quotes",
  ],
  ["UNEXPECTED_TOKEN", "node end", "YAML ends the value before this; put the whole text in quotes"],
  ["RESOURCE_EXHAUSTION", "", "nested too deep; at most 32 levels"],
  ["BAD_INDENT", "same column", "this stands at another depth than the lines above; indent alike"],
];

function describe(error: YAMLError, text: string): string {
  const written = text.slice(error.pos[0], error.pos[1]).split("\n", 1)[0] ?? "";
  if (error.code === "DUPLICATE_KEY") {
    const key = /^[^\s:]+/.exec(text.slice(error.pos[0], error.pos[0] + 100))?.[0] ?? written;
    return `key ${quote(key)} is written twice in one map`;
  }
  if (error.code === "TAG_RESOLVE_FAILED") {
    return `YAML takes ${quote(written)} for a tag; put the whole text in quotes`;
  }
  const known = ADVICE.find(([code, part]) => error.code === code && error.message.includes(part));
  if (known !== undefined) return known[2];
  const [what = "", ...words] = error.message.split(": ");
  const quoted = words.length === 0 ? "" : ` ${quote(words.join(": "))}`;
  return `not valid YAML: ${what.charAt(0).toLowerCase()}${what.slice(1)}${quoted}`;
}

function isUnclosedQuote(error: YAMLError): boolean {
  return error.code === "MISSING_CHAR" && error.message.includes("Missing closing");
}

/** The parser finds at the end that a quote is open; what helps is where it was opened. */
function lastQuote(yaml: Document): number {
  let start = 0;
  visit(yaml, (_, node) => {
    if (!isScalar(node)) return;
    const isQuoted = node.type === Scalar.QUOTE_DOUBLE || node.type === Scalar.QUOTE_SINGLE;
    if (isQuoted) start = node.range?.[0] ?? start;
  });
  return start;
}
