/** A request of a visitor, as Caddy asks about it. */
export interface LoadRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
const CHROME =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36";
const GPTBOT =
  "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; GPTBot/1.2; +https://openai.com/gptbot";

/** What a site is asked for: mostly by people, by a crawler or two, once in an odd spelling. */
export const VISITS: readonly Visit[] = [
  { uri: "/", ip: "198.51.100.7", userAgent: FIREFOX },
  { uri: "/articles/2026/11/how-to-read-a-robots-file.html", ip: "203.0.113.9", userAgent: CHROME },
  { uri: "/assets/site.css?v=8f3a", ip: "198.51.100.7", userAgent: FIREFOX },
  { uri: "/search?q=walls&page=2", ip: "2001:db8:7:9::42", userAgent: CHROME },
  { uri: "/images/caf%C3%A9.jpg", ip: "203.0.113.77", userAgent: FIREFOX },
  { uri: "/api/v1/items/1234567", ip: "198.51.100.12", userAgent: CHROME },
  { uri: "/archive/1999/index.html", ip: "198.51.100.200", userAgent: GPTBOT },
  { uri: "/feed.xml", ip: "203.0.113.50", userAgent: "FeedFetcher/2.0" },
];

export interface Visit {
  readonly uri: string;
  readonly ip: string;
  readonly userAgent: string;
}

/** The check that the repository's Caddyfile makes for each visit; each load tool fills in `id`. */
export function checksOf(visits: readonly Visit[], id: string): readonly LoadRequest[] {
  return visits.map(({ uri, ip, userAgent }) => ({
    path: `/authz/forward-auth?id=${id}`,
    headers: {
      Host: "127.0.0.1",
      "User-Agent": userAgent,
      Accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
      "Accept-Language": "en-GB,en;q=0.7,de;q=0.3",
      Via: "1.1 Caddy",
      "X-Forwarded-For": ip,
      "X-Forwarded-Host": "www.example.com",
      "X-Forwarded-Method": "GET",
      "X-Forwarded-Proto": "https",
      "X-Forwarded-Uri": uri,
      "X-Request-Id": id,
    },
  }));
}

/** The visits themselves, as clients send them to Caddy. */
export function pagesOf(visits: readonly Visit[], host: string): readonly LoadRequest[] {
  return visits.map(({ uri, userAgent }) => ({
    path: uri,
    headers: {
      Host: host,
      "User-Agent": userAgent,
      Accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
      "Accept-Language": "en-GB,en;q=0.7,de;q=0.3",
    },
  }));
}
