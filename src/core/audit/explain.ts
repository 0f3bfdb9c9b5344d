import { crawlerAdvice } from "./crawlers.ts";
import type { AuditError, AuditWarning, CrawlDelayRecord } from "./record.ts";

/** A record in words, for those who have to act on it. */
export interface Explanation {
  /** `not required` is a host that asks for no delay and has none. */
  readonly verdict: "ok" | "violation" | "not required";
  readonly why: string;
  /** What to do; undefined where nothing has to be done. */
  readonly fix: string | undefined;
  /** What each warning means, and how the crawler at hand reads a delay. */
  readonly remarks: readonly string[];
}

/** Says what a record means and what to publish: the texts of tables, reports and logs. */
export function explain(record: CrawlDelayRecord): Explanation {
  const remarks = [
    ...record.warnings.map((warning) => `${warning}: ${WARNING_TEXTS[warning]}`),
    crawlerAdvice(record.audited_agent),
  ];
  if (record.has_valid_crawl_delay) {
    const why = `\`${record.effective_user_agent}\` is given ${record.crawl_delay_seconds} s in line ${record.line}`;
    return { verdict: "ok", why, fix: undefined, remarks };
  }
  const isRequired = record.rate_limit_required;
  return {
    verdict: isRequired ? "violation" : "not required",
    why: whyNot(record),
    fix: isRequired ? fixFor(record) : undefined,
    remarks: isRequired ? remarks : remarks.slice(0, -1),
  };
}

function whyNot(record: CrawlDelayRecord): string {
  const { parser_error_code: code, error_detail: detail } = record;
  if (code === null) return whyMissing(record);
  const what = DETAIL_TEXTS[detail ?? "outside_group"];
  const written = record.crawl_delay_raw;
  const place = record.line === null ? "" : `line ${record.line}: `;
  const value = written === null ? "" : ` (\`${written}\`)`;
  const status = code === "HTTP_ERROR" ? `status ${record.robots_status_code}: ` : "";
  return `${place}${status}${what}${value}`;
}

function whyMissing(record: CrawlDelayRecord): string {
  if (record.effective_user_agent === null) {
    return `no group speaks to \`${record.audited_agent}\`, and there is none for \`*\``;
  }
  return `the group for \`${record.effective_user_agent}\` has no Crawl-delay line`;
}

function fixFor(record: CrawlDelayRecord): string {
  if (record.error_detail === "blocked_address") return fixForAddress(record);
  switch (record.error_class) {
    case "fetch":
      return `serve ${record.scheme}://${record.host}/robots.txt with status 200 as text/plain, to everybody, and in it ${linesFor(record)}`;
    case "parser":
    case "value":
    case null:
      return `publish ${linesFor(record)}`;
  }
}

/** What a host's own address may be is for the operator to say; where it redirects to is not. */
function fixForAddress({ redirects, host }: CrawlDelayRecord): string {
  return redirects.length > 0
    ? "let robots.txt be found without a redirect into a private network"
    : `where \`${host}\` may have such an address, say so: \`allow_private: true\`, or \`--allow-private\``;
}

function linesFor(record: CrawlDelayRecord): string {
  const agent = record.effective_user_agent ?? record.audited_agent;
  return `\`Crawl-delay: 10\`, a whole number from 1 to 30, on a line of its own in the group \`User-agent: ${agent}\``;
}

const DETAIL_TEXTS: Readonly<Record<NonNullable<AuditError["detail"]> | "outside_group", string>> =
  {
    dns: "the host's name has no address",
    connect: "nobody accepts the connection",
    tls: "the TLS handshake fails, so crawlers cannot fetch the file either",
    timeout: "no complete answer came in time; crawlers stop, or come back later without any limit",
    reset: "the connection was cut",
    protocol: "the answer is no HTTP",
    incomplete: "the answer broke off, so no part of it counts",
    decode: "the body is not what its Content-Encoding says",
    redirect_limit: "more than five redirects",
    redirect_loop: "redirects lead back to where they came from",
    blocked_address: "an address that is not public was refused",
    unavailable: "crawlers take this as no rules at all, and fetch everything without delay",
    rate_limited:
      "crawlers take this as a failing server: robots.txt itself must not be rate-limited",
    unreachable:
      "crawlers stop at first, and may come back after hours or days without any limit: worse than no delay",
    redirect_invalid: "a redirect that leads nowhere",
    unexpected_status: "neither a file nor a refusal",
    html: "an HTML page stands in the file's place",
    binary: "what stands in the file's place is no text",
    no_directives: "no line of it is a robots.txt directive",
    size_limit: "nothing was found in the first 500 KiB, and crawlers read no further",
    misspelled: "the key is misspelt, and most crawlers drop the line",
    missing_colon: "the colon is missing, and most crawlers drop the line",
    outside_group: "the line stands before any User-agent line, so it speaks to nobody",
    empty: "the value is empty",
    zero: "zero is no delay",
    negative: "the value is negative",
    sign: "a sign is no part of a value",
    comma_decimal: "the decimal point is a comma",
    unit_suffix: "a unit follows the number; write seconds without one",
    exponent: "an exponent is no part of a value",
    hex: "the value is hexadecimal",
    separator: "the digits are grouped",
    non_finite: "the value is not finite",
    non_ascii_digit: "the digits are not ASCII",
    non_ascii: "the value is not plain ASCII",
    control_char: "the value holds a control character",
    too_large: "the value is larger than 9007199254740991",
    non_numeric: "the value is no number",
  };

const WARNING_TEXTS: Readonly<Record<AuditWarning, string>> = {
  ABOVE_30: "more than 30 s; Bing documents 1 to 30",
  ABOVE_300:
    "more than 300 s; crawlers such as Nutch and Common Crawl's then skip the host entirely",
  DUPLICATE_CRAWL_DELAY:
    "several values; the smallest valid one counts here, the last one with many crawlers",
  EMPTY_USER_AGENT: "a User-agent line names nobody; some crawlers take it as everybody",
  FRACTIONAL: "a decimal; crawlers that know whole seconds drop it",
  MISSING_COLON: "a line without colon; not every crawler forgives that",
  NOT_UTF8: "not UTF-8; crawlers may read it as something else",
  ORPHAN_CRAWL_DELAY: "a Crawl-delay before any User-agent line, which speaks to nobody",
  REDIRECTED_HOST: "the file came from another host; crawlers may not follow there",
  TRUNCATED: "longer than 500 KiB; the rest was not read",
  TYPO_KEY: "a misspelt key; not every crawler forgives that",
  WRONG_CONTENT_TYPE: "not served as text/plain",
};
