import type { DelayAgent } from "../robots/crawl-delay.ts";

/** One host to audit, for one or more crawlers. */
export interface AuditTarget {
  readonly scheme: "http" | "https";
  /** Lower-case, in punycode, with its port where that is not the scheme's own. */
  readonly host: string;
  /** The explicit flag: this host needs crawlers to slow down. Never inferred. */
  readonly rateLimitRequired: boolean;
  /** Whether the host itself, though no redirect of its, may have an address that is not public. */
  readonly allowPrivate: boolean;
  readonly agents: readonly [DelayAgent, ...DelayAgent[]];
}

/** The agent that is audited where none is named: everybody. */
export const EVERYBODY: DelayAgent = { names: ["*"], fallback: "rfc9309" };

/**
 * A host as people write it, with or without port, in the form that URLs have; undefined for what is
 * no host, or more than one.
 */
export function parseAuditHost(text: string, scheme: "http" | "https"): string | undefined {
  // Whatever starts another part of a URL, and what the URL parser would drop unsaid.
  if (/[\s/\\?#@*%]/.test(text)) return undefined;
  const source = `${scheme}://${text.replace(/\.(?=:\d+$|$)/, "")}`;
  if (!URL.canParse(source)) return undefined;
  const { host, hostname, pathname } = new URL(source);
  return hostname === "" || pathname !== "/" ? undefined : host;
}

/** Where a host keeps its robots.txt. */
export function robotsUrl(target: Pick<AuditTarget, "scheme" | "host">): string {
  return `${target.scheme}://${target.host}/robots.txt`;
}
