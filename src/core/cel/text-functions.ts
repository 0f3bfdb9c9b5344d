/** `lowerAscii`: letters A to Z made small, and nothing else touched. */
export function lowerAscii(text: string): string {
  return /[A-Z]/.test(text) ? text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : text;
}

/** `upperAscii`: letters a to z made capital, and nothing else touched. */
export function upperAscii(text: string): string {
  return /[a-z]/.test(text) ? text.replace(/[a-z]+/g, (letters) => letters.toUpperCase()) : text;
}

/** Longest text that a replacement of the empty text may make, in UTF-16 code units. */
const MAX_REPEATED = 1_048_576;

/**
 * `replace`: up to `limit` occurrences, from the left, in linear time. As in the reference evaluator
 * an empty `part` is found before the first character again and again, up to the length of the text.
 * Throws when an empty `part` and a great `limit` would make a text of more than 1 MiB.
 */
export function replaceText(text: string, part: string, by: string, limit: number): string {
  if (!(limit > 0)) return text;
  if (part === "") {
    if (limit * by.length > MAX_REPEATED) throw new Error("replace makes too long a text");
    return by.repeat(by === "" ? 0 : limit) + text;
  }
  let result = "";
  let from = 0;
  for (let count = 0; count < limit; count++) {
    const at = text.indexOf(part, from);
    if (at < 0) break;
    result += text.slice(from, at) + by;
    from = at + part.length;
  }
  return result + text.slice(from);
}
