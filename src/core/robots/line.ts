/** Something in the file that works, or is skipped, but not as every crawler reads it. */
export type SpellingWarning = "MISSING_COLON" | "TYPO_KEY";

/** What one line of robots.txt says. */
export type RobotsLine =
  | { readonly kind: "blank" }
  | {
      readonly kind: "user_agent";
      readonly value: string;
      readonly warning: SpellingWarning | undefined;
    }
  | {
      readonly kind: "allow" | "disallow";
      readonly value: string;
      readonly warning: SpellingWarning | undefined;
    }
  | { readonly kind: "crawl_delay"; readonly value: string }
  /** Meant as Crawl-delay, and dropped by most crawlers. */
  | {
      readonly kind: "near_miss";
      readonly value: string;
      readonly flaw: "misspelled" | "missing_colon";
    }
  /** A directive of some crawler that is none of the above. */
  | { readonly kind: "other" }
  | { readonly kind: "unknown" };

// What the reference parser takes for Disallow (google/robotstxt), compared by prefix as it does.
const DISALLOW_SPELLINGS = ["disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"];

const OTHER_KEYS: ReadonlySet<string> = new Set([
  "sitemap",
  "site-map",
  "host",
  "clean-param",
  "request-rate",
  "visit-time",
  "robot-version",
  "content-signal",
  "content-usage",
  "license",
  "noindex",
  "nofollow",
  "noarchive",
  "comment",
]);

const LONGEST_KEY = 24;

/** Reads one line, without its end. Comments go first; white space is ASCII (RFC 9309 section 2.2). */
export function parseRobotsLine(line: string): RobotsLine {
  const comment = line.indexOf("#");
  const text = trimAscii(comment === -1 ? line : line.slice(0, comment));
  if (text === "") return { kind: "blank" };
  const colon = text.indexOf(":");
  if (colon === -1) return parseWithoutColon(text);
  const key = trimAscii(text.slice(0, colon)).toLowerCase();
  const value = trimAscii(text.slice(colon + 1));
  if (key === "crawl-delay") return { kind: "crawl_delay", value };
  return (
    structural(key, value, undefined) ??
    (isNearCrawlDelay(key)
      ? { kind: "near_miss", value, flaw: "misspelled" }
      : { kind: OTHER_KEYS.has(key) ? "other" : "unknown" })
  );
}

/** Cuts space, tab, vertical tab and form feed off both ends, and nothing else. */
function trimAscii(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0b || code === 0x0c;
}

/** The reference parser reads `disallow /`: exactly two words. A Crawl-delay so written is a near miss. */
function parseWithoutColon(text: string): RobotsLine {
  const space = text.search(/[ \t]/);
  const key = (space === -1 ? text : text.slice(0, space)).toLowerCase();
  const value = space === -1 ? "" : trimAscii(text.slice(space));
  if (value !== "" && !/[ \t]/.test(value)) {
    const line = structural(key, value, "MISSING_COLON");
    if (line !== undefined) return line;
  }
  return delayWithoutColon(text) ?? { kind: "unknown" };
}

/** `Crawl-delay 7`, `crawl delay 7`, `Crawl-delay=7`. */
function delayWithoutColon(text: string): RobotsLine | undefined {
  const words = /^([^ \t=]*)(?:[ \t=]+([^ \t=]*))?/.exec(text);
  const first = words?.[1] ?? "";
  for (const key of [first, words?.[0] ?? ""]) {
    if (!isNearCrawlDelay(key.toLowerCase())) continue;
    const value = text.slice(key.length).replace(/^[ \t=]+/, "");
    return { kind: "near_miss", value, flaw: "missing_colon" };
  }
  return undefined;
}

function structural(
  key: string,
  value: string,
  flaw: "MISSING_COLON" | undefined,
): RobotsLine | undefined {
  const spelled = (canonical: string): SpellingWarning | undefined =>
    flaw ?? (key === canonical ? undefined : "TYPO_KEY");
  if (key === "user-agent" || key === "useragent" || key === "user agent") {
    return { kind: "user_agent", value, warning: spelled("user-agent") };
  }
  if (key.startsWith("allow")) return { kind: "allow", value, warning: spelled("allow") };
  if (DISALLOW_SPELLINGS.some((spelling) => key.startsWith(spelling))) {
    return { kind: "disallow", value, warning: spelled("disallow") };
  }
  return undefined;
}

/**
 * Only letters count, so that `crawl delay`, `crawl_delay` and a stray byte order mark are seen; of
 * these some may be missing, doubled or swapped.
 */
function isNearCrawlDelay(key: string): boolean {
  const letters = key.length > LONGEST_KEY ? "" : key.replace(/[^a-z]/g, "");
  return /^c[rlaw]{2,5}(?:er|ing)?d[ela]{2,4}y?s?$/.test(letters);
}
