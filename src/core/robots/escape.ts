/** All but what every parser in use compares as it stands: unreserved characters, most delimiters. */
const SPECIAL = /[^A-Za-z0-9._~!&'()+,;=:@/-]/gu;

/**
 * A part of a path as robots.txt and URLs write it: UTF-8, percent-encoded but for what parsers
 * compare as it stands (RFC 9309 section 2.2.2). `*` and `$` lose their meaning (section 2.2.3).
 */
export function escapePath(text: string): string {
  return text.replace(SPECIAL, percentEncode);
}

function percentEncode(character: string): string {
  return Buffer.from(character, "utf8").toString("hex").toUpperCase().replace(/../g, "%$&");
}

/**
 * The spellings of a pattern. Browsers leave `$` as it is, and Google's parser then finds it only
 * where the pattern has it raw, which it may have anywhere but at the end.
 */
export function spellingsOf(pattern: string): readonly string[] {
  const raw = pattern.replaceAll("%24", "$");
  const becomesAnchor = raw.endsWith("$") && !pattern.endsWith("$");
  return raw === pattern || becomesAnchor ? [pattern] : [pattern, raw];
}
