import { Scalar } from "yaml";

/**
 * Where in the source one character of a YAML text was written. Folding and indentation change
 * blanks alone, so characters are found by counting those that are not blank.
 */
export function sourceOffset(scalar: Scalar, source: string, offset: number): number {
  const [start, end] = scalar.range ?? [0, 0];
  const value = String(scalar.value);
  const wanted = countSolid(value, Math.min(offset, value.length));
  const token = nextToken(scalar.type);
  let position = contentStart(scalar.type, source, start);
  let solid = 0;
  let afterLast = position;
  while (position < end) {
    const { length, produced } = token(source, position);
    if (produced > 0) {
      if (solid + produced > wanted) return position;
      solid += produced;
      afterLast = position + length;
    }
    position += length;
  }
  return Math.min(afterLast, end);
}

interface Token {
  /** Characters of source. */
  readonly length: number;
  /** Characters of value, blanks not counted. */
  readonly produced: number;
}

function isBlank(character: string): boolean {
  return character === " " || character === "\n" || character === "\t" || character === "\r";
}

function countSolid(value: string, end: number): number {
  let count = 0;
  for (let index = 0; index < end; index++) if (!isBlank(value.charAt(index))) count++;
  return count;
}

/** After the quote, or on the line after `|` or `>`. */
function contentStart(type: Scalar["type"], source: string, start: number): number {
  if (type === Scalar.QUOTE_DOUBLE || type === Scalar.QUOTE_SINGLE) return start + 1;
  if (type === Scalar.BLOCK_FOLDED || type === Scalar.BLOCK_LITERAL) {
    return source.indexOf("\n", start) + 1;
  }
  return start;
}

function nextToken(type: Scalar["type"]): (source: string, position: number) => Token {
  if (type === Scalar.QUOTE_SINGLE) return singleQuoted;
  if (type === Scalar.QUOTE_DOUBLE) return doubleQuoted;
  return plain;
}

function plain(source: string, position: number): Token {
  return { length: 1, produced: isBlank(source.charAt(position)) ? 0 : 1 };
}

function singleQuoted(source: string, position: number): Token {
  return source.startsWith("''", position) ? { length: 2, produced: 1 } : plain(source, position);
}

const HEX_DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };
/** Escapes that stand for a blank, or for nothing. */
const BLANK_ESCAPES = new Set(["n", "t", "r", " ", "\t", "\n", "\r"]);

function doubleQuoted(source: string, position: number): Token {
  if (source.charAt(position) !== "\\") return plain(source, position);
  const kind = source.charAt(position + 1);
  const digits = HEX_DIGITS[kind] ?? 0;
  if (digits === 0) return { length: 2, produced: BLANK_ESCAPES.has(kind) ? 0 : 1 };
  const code = Number.parseInt(source.slice(position + 2, position + 2 + digits), 16);
  const text = code <= 0x10ffff ? String.fromCodePoint(code) : "";
  return { length: 2 + digits, produced: countSolid(text, text.length) };
}
