/** What the rules speak for, as parsers in use spell it; they compare the beginning alone. */
const DIRECTIVES = [
  "useragent",
  "allow",
  "disallow",
  "dissallow",
  "dissalow",
  "disalow",
  "diasllow",
  "disallaw",
  "crawldelay",
];

/**
 * Whether a line of `robots.extra` would be read as a group, a path or a delay: those come from the
 * rules. Blanks, `-` and `_` in a name and a missing colon are forgiven by parsers, so they are here.
 */
export function isForeignDirective(line: string): boolean {
  const name = line
    .slice(0, 64)
    .toLowerCase()
    .replaceAll(/[\s_\u200b-]/gu, "");
  return DIRECTIVES.some((directive) => name.startsWith(directive));
}
