/** What is documented of a crawler and Crawl-delay. */
interface KnownCrawler {
  /** Of the names that it answers to, lower-case. */
  readonly tokens: readonly string[];
  readonly advice: string;
}

const CRAWLERS: readonly KnownCrawler[] = [
  {
    tokens: ["bingbot", "msnbot", "adidxbot"],
    advice:
      "Bing honours whole values from 1 to 30, and also that of `*` where its own group has none",
  },
  {
    tokens: ["yandex", "yandexbot", "yandeximages"],
    advice: "Yandex has ignored Crawl-delay since 2018; set the pace in Yandex Webmaster",
  },
  {
    tokens: ["baiduspider"],
    advice: "Baidu has ignored Crawl-delay since 2012; set the pace in its webmaster tools",
  },
  { tokens: ["amazonbot"], advice: "Amazonbot does not support Crawl-delay; limit it by a rule" },
  { tokens: ["claudebot"], advice: "ClaudeBot honours Crawl-delay" },
  { tokens: ["mj12bot"], advice: "MJ12bot honours whole values up to 30" },
  { tokens: ["slurp"], advice: "Slurp honours decimals up to 10" },
  {
    tokens: ["semrushbot"],
    advice: "SemrushBot says that it honours Crawl-delay; a cap of 10 is reported",
  },
  { tokens: ["ahrefsbot"], advice: "AhrefsBot says that it honours Crawl-delay" },
  {
    tokens: ["ccbot", "nutch"],
    advice: "crawlers of this family honour values up to 300, and skip the host above that",
  },
  { tokens: ["seznambot"], advice: "Seznam has a directive of its own, Request-rate" },
];

const EVERYBODY =
  "Bing, ClaudeBot and MJ12bot honour Crawl-delay; Google, Yandex, Baidu and Amazonbot ignore it, so limit them by a rule as well";

const UNDOCUMENTED =
  "whether this crawler honours Crawl-delay is not documented; a rule can limit it";

/** What a delay for a crawler is worth, by what its operator documents. */
export function crawlerAdvice(agent: string): string {
  const name = agent.toLowerCase();
  if (name === "*") return EVERYBODY;
  if (name.startsWith("google") || name === "storebot-google") {
    return "Google ignores Crawl-delay; it slows down for 429 and 503, so limit it by a rule";
  }
  return CRAWLERS.find(({ tokens }) => tokens.includes(name))?.advice ?? UNDOCUMENTED;
}
