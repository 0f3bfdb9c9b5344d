/** One file, one crawler, and what the audit must say of it. */
export interface DelayCase {
  readonly why: string;
  readonly text: string;
  /** The crawler's names in its order of preference. */
  readonly agent: readonly [string, ...string[]];
  readonly fallback?: "directive";
  readonly effective: string | null;
  readonly raw: string | null;
  readonly seconds: number | null;
  /** `CODE` or `CODE (detail)`. */
  readonly code: string | null;
  readonly warnings: readonly string[];
}

interface Expected {
  readonly agent?: string | readonly [string, ...string[]];
  readonly fallback?: "directive";
  readonly effective?: string | null;
  readonly raw?: string | null;
  readonly seconds?: number;
  readonly code?: string;
  readonly warnings?: readonly string[];
}

function delayCase(why: string, text: string, expected: Expected): DelayCase {
  const { agent = "a", fallback } = expected;
  return {
    why,
    text,
    agent: typeof agent === "string" ? [agent] : agent,
    ...(fallback === undefined ? {} : { fallback }),
    effective: expected.effective === undefined ? "*" : expected.effective,
    raw: expected.raw ?? null,
    seconds: expected.seconds ?? null,
    code: expected.code ?? null,
    warnings: expected.warnings ?? [],
  };
}

function value(
  why: string,
  raw: string,
  expected: Expected & { readonly written?: string },
): DelayCase {
  return delayCase(why, `User-agent: *\nCrawl-delay:${expected.written ?? ` ${raw}`}\n`, {
    raw,
    ...expected,
  });
}

const duplicate = ["DUPLICATE_CRAWL_DELAY"];

const choiceOfGroup: readonly DelayCase[] = [
  delayCase(
    "RFC 9309 2.2.1: `*` speaks to a crawler that no group names",
    "User-agent: *\nCrawl-delay: 10\n",
    { agent: "bingbot", raw: "10", seconds: 10 },
  ),
  delayCase(
    "RFC 9309 2.2.1: a group that names the crawler comes before `*`",
    "User-agent: bingbot\nCrawl-delay: 5\nUser-agent: *\nCrawl-delay: 10\n",
    { agent: "bingbot", effective: "bingbot", raw: "5", seconds: 5 },
  ),
  delayCase(
    "the order of groups means nothing",
    "User-agent: *\nCrawl-delay: 10\nUser-agent: bingbot\nCrawl-delay: 5\n",
    { agent: "bingbot", effective: "bingbot", raw: "5", seconds: 5 },
  ),
  delayCase(
    "RFC 9309 2.2.1: nothing is inherited from `*`",
    "User-agent: *\nDisallow: /a\nCrawl-delay: 10\n\nUser-agent: bingbot\nDisallow: /b\n",
    { agent: "bingbot", effective: "bingbot" },
  ),
  delayCase(
    "Bing reads the delay of `*` where its own group has none",
    "User-agent: *\nDisallow: /a\nCrawl-delay: 10\n\nUser-agent: bingbot\nDisallow: /b\n",
    { agent: "bingbot", fallback: "directive", raw: "10", seconds: 10 },
  ),
  delayCase(
    "a value of its own, even a bad one, keeps a crawler from the delay of `*`",
    "User-agent: *\nCrawl-delay: 10\n\nUser-agent: bingbot\nCrawl-delay: 0\n",
    {
      agent: "bingbot",
      fallback: "directive",
      effective: "bingbot",
      raw: "0",
      code: "INVALID_VALUE (zero)",
    },
  ),
  delayCase(
    "where `*` has no delay either, the crawler's own group is what applies",
    "User-agent: *\nDisallow: /a\n\nUser-agent: bingbot\nDisallow: /b\n",
    { agent: "bingbot", fallback: "directive", effective: "bingbot" },
  ),
  delayCase("a delay for another crawler only", "User-agent: AhrefsBot\nCrawl-delay: 10\n", {
    agent: "bingbot",
    effective: null,
  }),
  delayCase(
    "another crawler's delay does not reach `*`",
    "User-agent: AhrefsBot\nCrawl-delay: 10\n\nUser-agent: *\nDisallow: /x\n",
    { agent: "bingbot" },
  ),
  delayCase("an empty file", "", { agent: "bingbot", effective: null }),
  delayCase("comments and blank lines only", "# nothing here\n\n", {
    agent: "bingbot",
    effective: null,
  }),
  delayCase("a group without delay", "User-agent: *\nDisallow:\n", { agent: "bingbot" }),
  delayCase(
    "the crawler's second name, before `*`",
    "User-agent: Googlebot\nCrawl-delay: 5\n\nUser-agent: *\nCrawl-delay: 9\n",
    { agent: ["Googlebot-News", "Googlebot"], effective: "Googlebot", raw: "5", seconds: 5 },
  ),
  delayCase(
    "the crawler's first name wins wherever it stands",
    "User-agent: Googlebot\nCrawl-delay: 5\n\nUser-agent: Googlebot-News\nCrawl-delay: 8\n",
    {
      agent: ["Googlebot-News", "Googlebot"],
      effective: "Googlebot-News",
      raw: "8",
      seconds: 8,
    },
  ),
];

const grouping: readonly DelayCase[] = [
  delayCase(
    "RFC 9309 2.1: stacked User-agent lines share a group, first",
    "User-agent: a\nUser-agent: b\nCrawl-delay: 5\nDisallow: /x\n",
    { agent: "a", effective: "a", raw: "5", seconds: 5 },
  ),
  delayCase(
    "RFC 9309 2.1: stacked User-agent lines share a group, second",
    "User-agent: a\nUser-agent: b\nCrawl-delay: 5\nDisallow: /x\n",
    { agent: "b", effective: "b", raw: "5", seconds: 5 },
  ),
  delayCase(
    "a delay is for the User-agent lines above it",
    "User-agent: a\nCrawl-delay: 5\nUser-agent: b\nDisallow: /x\n",
    { agent: "a", effective: "a", raw: "5", seconds: 5 },
  ),
  delayCase(
    "and not for those below it",
    "User-agent: a\nCrawl-delay: 5\nUser-agent: b\nDisallow: /x\n",
    { agent: "b", effective: "b" },
  ),
  delayCase(
    "two delays in one group: the first agent has the first",
    "User-agent: a\nCrawl-delay: 5\nUser-agent: b\nCrawl-delay: 9\nDisallow: /x\n",
    { agent: "a", effective: "a", raw: "5", seconds: 5 },
  ),
  delayCase(
    "two delays in one group: the second agent has the second",
    "User-agent: a\nCrawl-delay: 5\nUser-agent: b\nCrawl-delay: 9\nDisallow: /x\n",
    { agent: "b", effective: "b", raw: "9", seconds: 9 },
  ),
  delayCase(
    "RFC 9309 2.2.4: a Sitemap line does not end a run of User-agent lines",
    "User-agent: a\nSitemap: https://h/s.xml\nUser-agent: b\nCrawl-delay: 5\n",
    { effective: "a", raw: "5", seconds: 5 },
  ),
  delayCase(
    "RFC 9309 2.2.4: nor does an unknown line",
    "User-agent: a\nfoo: bar\nUser-agent: b\nCrawl-delay: 5\n",
    { effective: "a", raw: "5", seconds: 5 },
  ),
  delayCase("a blank line ends nothing", "User-agent: a\n\nUser-agent: b\n\nCrawl-delay: 5\n", {
    effective: "a",
    raw: "5",
    seconds: 5,
  }),
  delayCase(
    "RFC 9309 2.1: a rule ends the run of User-agent lines",
    "User-agent: a\nDisallow: /x\nUser-agent: b\nCrawl-delay: 5\n",
    { effective: "a" },
  ),
  delayCase(
    "an empty Disallow is a rule line too",
    "User-agent: a\nDisallow:\nUser-agent: b\nCrawl-delay: 5\n",
    { effective: "a" },
  ),
  delayCase(
    "RFC 9309 2.2.1: groups of one agent are merged",
    "User-agent: a\nCrawl-delay: 5\nDisallow: /x\n\nUser-agent: a\nCrawl-delay: 10\nDisallow: /y\n",
    { effective: "a", raw: "5", seconds: 5, warnings: duplicate },
  ),
  delayCase(
    "the same two groups, swapped",
    "User-agent: a\nCrawl-delay: 10\nDisallow: /x\n\nUser-agent: a\nCrawl-delay: 5\nDisallow: /y\n",
    { effective: "a", raw: "5", seconds: 5, warnings: duplicate },
  ),
  delayCase(
    "groups are merged over a `*` group between them",
    "User-agent: a\nDisallow: /x\n\nUser-agent: *\nCrawl-delay: 9\n\nUser-agent: a\nCrawl-delay: 5\n",
    { effective: "a", raw: "5", seconds: 5 },
  ),
  delayCase(
    "two `*` groups, the delay in the second",
    "User-agent: *\nDisallow: /x\n\nUser-agent: *\nCrawl-delay: 5\n",
    { raw: "5", seconds: 5 },
  ),
  delayCase(
    "the smallest of several valid values",
    "User-agent: a\nCrawl-delay: 5\nCrawl-delay: 10\n",
    { effective: "a", raw: "5", seconds: 5, warnings: duplicate },
  ),
  delayCase(
    "a valid value after a bad one",
    "User-agent: a\nCrawl-delay: soon\nCrawl-delay: 10\n",
    { effective: "a", raw: "10", seconds: 10, warnings: duplicate },
  ),
  delayCase(
    "a valid value before a bad one",
    "User-agent: a\nCrawl-delay: 10\nCrawl-delay: soon\n",
    { effective: "a", raw: "10", seconds: 10, warnings: duplicate },
  ),
  delayCase(
    "of bad values the first is reported",
    "User-agent: a\nCrawl-delay: 0\nCrawl-delay: -1\n",
    { effective: "a", raw: "0", code: "INVALID_VALUE (zero)", warnings: duplicate },
  ),
  delayCase(
    "the place within the group means nothing: between rules",
    "User-agent: a\nDisallow: /x\nCrawl-delay: 5\nDisallow: /y\n",
    { effective: "a", raw: "5", seconds: 5 },
  ),
  delayCase(
    "the place within the group means nothing: after the rules",
    "User-agent: *\nDisallow: /\nCrawl-delay: 10\n",
    { raw: "10", seconds: 10 },
  ),
  delayCase("a delay that belongs to nobody", "Crawl-delay: 7\n", {
    effective: null,
    raw: "7",
    code: "OUTSIDE_GROUP",
  }),
  delayCase(
    "a delay that belongs to nobody, before a group without one",
    "Crawl-delay: 7\nUser-agent: *\nDisallow: /x\n",
    { raw: "7", code: "OUTSIDE_GROUP" },
  ),
  delayCase(
    "a delay that belongs to nobody beside one that counts",
    "Crawl-delay: 7\nUser-agent: *\nCrawl-delay: 3\n",
    { raw: "3", seconds: 3, warnings: ["ORPHAN_CRAWL_DELAY"] },
  ),
];

const agents: readonly DelayCase[] = [
  delayCase("RFC 9309 2.2.1: case does not count", "USER-AGENT: BINGBOT\nCRAWL-DELAY: 5\n", {
    agent: "bingbot",
    effective: "BINGBOT",
    raw: "5",
    seconds: 5,
  }),
  delayCase(
    "a version after the product token does not count",
    "User-agent: bingbot/2.0\nCrawl-delay: 5\n",
    { agent: "bingbot", effective: "bingbot/2.0", raw: "5", seconds: 5 },
  ),
  delayCase("nor does a star", "User-agent: bingbot*\nCrawl-delay: 5\n", {
    agent: "bingbot",
    effective: "bingbot*",
    raw: "5",
    seconds: 5,
  }),
  delayCase("nor do further words", "User-agent: Foo Bar\nCrawl-delay: 5\n", {
    agent: "Foo",
    effective: "Foo Bar",
    raw: "5",
    seconds: 5,
  }),
  delayCase("a longer name is another crawler", "User-agent: foobar\nCrawl-delay: 5\n", {
    agent: "foo",
    effective: null,
  }),
  delayCase("a shorter name is another crawler", "User-agent: foo\nCrawl-delay: 5\n", {
    agent: "foobar",
    effective: null,
  }),
  delayCase("real tokens hold digits", "User-agent: MJ12bot\nCrawl-delay: 5\n", {
    agent: "MJ12bot",
    effective: "MJ12bot",
    raw: "5",
    seconds: 5,
  }),
  delayCase("`*` and white space is `*`", "User-agent: * all\nCrawl-delay: 5\n", {
    raw: "5",
    seconds: 5,
  }),
  delayCase("an empty name is nobody's", "User-agent:\nCrawl-delay: 5\n", {
    agent: "foo",
    effective: null,
    warnings: ["EMPTY_USER_AGENT"],
  }),
  delayCase(
    "a name that no token may have still ends the group before it",
    "User-agent: *\nDisallow: /i\n\nUser-agent: 5emeRue\nCrawl-delay: 5\n",
    { agent: "foo" },
  ),
  delayCase("a name out of every prototype", "User-agent: __proto__\nCrawl-delay: 7\n", {
    agent: "__proto__",
    effective: "__proto__",
    raw: "7",
    seconds: 7,
  }),
  delayCase("and another", "User-agent: *\nCrawl-delay: 7\n", {
    agent: "constructor",
    raw: "7",
    seconds: 7,
  }),
];

const values: readonly DelayCase[] = [
  value("a decimal", "1.5", { seconds: 1.5, warnings: ["FRACTIONAL"] }),
  value("a decimal without whole part", ".5", { seconds: 0.5, warnings: ["FRACTIONAL"] }),
  value("a decimal that integer readers drop", "5.", { seconds: 5, warnings: ["FRACTIONAL"] }),
  value("leading zeros are not octal", "010", { seconds: 10 }),
  value("a plus sign", "+5", { code: "INVALID_VALUE (sign)" }),
  value("a minus sign", "-1", { code: "INVALID_VALUE (negative)" }),
  value("zero", "0", { code: "INVALID_VALUE (zero)" }),
  value("zero, written out", "0.00", { code: "INVALID_VALUE (zero)" }),
  value("less than can be told from zero", `0.${"0".repeat(400)}1`, {
    raw: `0.${"0".repeat(253)}…`,
    code: "INVALID_VALUE (zero)",
    written: ` 0.${"0".repeat(400)}1`,
  }),
  value("nothing", "", { code: "INVALID_VALUE (empty)", written: "" }),
  value("nothing but a comment", "", { code: "INVALID_VALUE (empty)", written: " # 10" }),
  value("a decimal comma", "1,5", { code: "INVALID_VALUE (comma_decimal)" }),
  value("a unit", "10s", { code: "INVALID_VALUE (unit_suffix)" }),
  value("a unit after a space", "10 seconds", { code: "INVALID_VALUE (unit_suffix)" }),
  value("an exponent", "1e3", { code: "INVALID_VALUE (exponent)" }),
  value("hexadecimal", "0x10", { code: "INVALID_VALUE (hex)" }),
  value("infinity", "Infinity", { code: "INVALID_VALUE (non_finite)" }),
  value("not a number, by name", "NaN", { code: "INVALID_VALUE (non_finite)" }),
  value("digits in groups", "1_000", { code: "INVALID_VALUE (separator)" }),
  value("two dots", "1.2.3", { code: "INVALID_VALUE (non_numeric)" }),
  value("one dot and nothing else", ".", { code: "INVALID_VALUE (non_numeric)" }),
  value("a word", "soon", { code: "INVALID_VALUE (non_numeric)" }),
  value("quotes", '"5"', { code: "INVALID_VALUE (non_numeric)" }),
  value("an Arabic digit", "٣", { code: "INVALID_VALUE (non_ascii_digit)" }),
  value("a fullwidth digit", "５", { code: "INVALID_VALUE (non_ascii_digit)" }),
  value("a superscript", "²", { code: "INVALID_VALUE (non_ascii_digit)" }),
  value("a no-break space is no white space", "\u00a05", {
    code: "INVALID_VALUE (non_ascii)",
    written: "\u00a05",
  }),
  value("a typographic minus", "−5", { code: "INVALID_VALUE (non_ascii)" }),
  value("a control character", "5\\u0007", {
    code: "INVALID_VALUE (control_char)",
    written: " 5\u0007",
  }),
  value("more than can be counted", "99999999999999999999", { code: "INVALID_VALUE (too_large)" }),
  value("more than a number can be", "", {
    raw: `${"9".repeat(255)}…`,
    code: "INVALID_VALUE (too_large)",
    written: ` ${"9".repeat(400)}`,
  }),
  value("the largest that counts", "9007199254740991", {
    seconds: 9007199254740991,
    warnings: ["ABOVE_300"],
  }),
  value("the largest that Bing documents", "30", { seconds: 30 }),
  value("more than Bing documents", "31", { seconds: 31, warnings: ["ABOVE_30"] }),
  value("the largest that Nutch waits for", "300", { seconds: 300, warnings: ["ABOVE_30"] }),
  value("more than Nutch waits for", "301", { seconds: 301, warnings: ["ABOVE_300"] }),
  value("an hour", "3600", { seconds: 3600, warnings: ["ABOVE_300"] }),
  value("a day and more", "100000", { seconds: 100000, warnings: ["ABOVE_300"] }),
  value("tab, vertical tab and form feed are white space", "7", {
    seconds: 7,
    written: "\t\v\f7\f\v\t",
  }),
];

const spelling: readonly DelayCase[] = [
  delayCase("comments without white space", "User-agent: *#all\nCrawl-delay: 10#s\n", {
    raw: "10",
    seconds: 10,
  }),
  delayCase("RFC 9309 2.2: white space around the colon", "User-agent : *\n Crawl-Delay : 7\n", {
    raw: "7",
    seconds: 7,
  }),
  ...[
    "Crawl delay",
    "Crawldelay",
    "crawl_delay",
    "Craw-delay",
    "clawl-delay",
    "crawl-deley",
    "crawler-delay",
    "crawl-dleay",
  ].map((key) =>
    delayCase(`a misspelt key, \`${key}\``, `User-agent: *\n${key}: 7\n`, {
      raw: "7",
      code: "MALFORMED_DIRECTIVE (misspelled)",
    }),
  ),
  delayCase("a directive of another meaning", "User-agent: *\nCrawl-depth: 7\n", {}),
  delayCase("a missing colon", "User-agent: *\nCrawl-delay 7\n", {
    raw: "7",
    code: "MALFORMED_DIRECTIVE (missing_colon)",
  }),
  delayCase("an equals sign", "User-agent: *\nCrawl-delay=7\n", {
    raw: "7",
    code: "MALFORMED_DIRECTIVE (missing_colon)",
  }),
  delayCase("a misspelt key without colon", "User-agent: *\nCrawl delay 7\n", {
    raw: "7",
    code: "MALFORMED_DIRECTIVE (missing_colon)",
  }),
  delayCase(
    "a misspelt key is not for the agents below it",
    "User-agent: a\nCrawldelay: 7\nUser-agent: b\nDisallow:\n",
    { agent: "b", effective: "b", warnings: ["TYPO_KEY"] },
  ),
  delayCase("a misspelt key beside a good one", "User-agent: *\nCrawldelay: 7\nCrawl-delay: 5\n", {
    raw: "5",
    seconds: 5,
    warnings: ["TYPO_KEY"],
  }),
  delayCase("the reference parser forgives `User-agent *`", "User-agent *\nCrawl-delay: 7\n", {
    raw: "7",
    seconds: 7,
    warnings: ["MISSING_COLON"],
  }),
  delayCase("but not three words", "User-agent a b\nCrawl-delay: 7\n", {
    effective: null,
    raw: "7",
    code: "OUTSIDE_GROUP",
  }),
  delayCase("it forgives `Useragent:`", "Useragent: *\nCrawl-delay: 7\n", {
    raw: "7",
    seconds: 7,
    warnings: ["TYPO_KEY"],
  }),
  delayCase(
    "it reads `Dissallow:`, which so ends a run",
    "User-agent: a\nDissallow: /\nUser-agent: b\nCrawl-delay: 7\n",
    { effective: "a", warnings: ["TYPO_KEY"] },
  ),
  delayCase("a second colon is part of the value", "User-agent: *\nCrawl-delay:: 7\n", {
    raw: ": 7",
    code: "INVALID_VALUE (non_numeric)",
  }),
  delayCase("one byte order mark is skipped", "\uFEFFUser-agent: *\nCrawl-delay: 7\n", {
    raw: "7",
    seconds: 7,
  }),
  delayCase("two are one too many", "\uFEFF\uFEFFUser-agent: *\nCrawl-delay: 7\n", {
    effective: null,
    raw: "7",
    code: "OUTSIDE_GROUP",
  }),
  delayCase("a byte order mark amid the file", "User-agent: *\n\uFEFFCrawl-delay: 7\n", {
    raw: "7",
    code: "MALFORMED_DIRECTIVE (misspelled)",
  }),
  delayCase("lines that end in CR", "User-agent: *\rCrawl-delay: 7\r", { raw: "7", seconds: 7 }),
  delayCase("lines that end in CR LF", "User-agent: *\r\nCrawl-delay: 7\r\n", {
    raw: "7",
    seconds: 7,
  }),
  delayCase("no end of the last line", "User-agent: *\n\n\nCrawl-delay: 7", {
    raw: "7",
    seconds: 7,
  }),
  ...["\u2028", "\u2029", "\u0085", "\v", "\f"].map((end) =>
    delayCase(
      `RFC 9309 2.2: U+${(end.codePointAt(0) ?? 0).toString(16).padStart(4, "0")} ends no line`,
      `User-agent: b${end}Crawl-delay: 7\n`,
      { effective: null },
    ),
  ),
  delayCase("Request-rate is another directive", "User-agent: *\nRequest-rate: 1/10\n", {}),
];

/** All cases: the choice of a group, its bounds, names, values and spellings. */
export const DELAY_CASES: readonly DelayCase[] = [
  ...choiceOfGroup,
  ...grouping,
  ...agents,
  ...values,
  ...spelling,
];
