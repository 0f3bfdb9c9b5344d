import type { Policy } from "./policy.ts";

const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** A host of a site as it is kept, or why it is none. */
export type HostResult =
  | { readonly kind: "host"; readonly host: string }
  | { readonly kind: "bad"; readonly reason: string };

/**
 * Reads a host as a policy writes it: an exact name or address, `*.example.com` (one label, as Caddy
 * does), or `*`. Lower-case; a port and a trailing dot are dropped.
 */
export function parseSiteHost(written: string): HostResult {
  const host = written
    .toLowerCase()
    .replace(/:\d{1,5}$/, "")
    .replace(/\.$/, "");
  if (host === "*") return { kind: "host", host };
  const name = host.startsWith("*.") ? host.slice(2) : host;
  if (host === name && isIpv6Literal(host)) return { kind: "host", host };
  if (name.length <= 253 && name.split(".").every((label) => LABEL.test(label))) {
    return { kind: "host", host };
  }
  return { kind: "bad", reason: reasonAgainst(name) };
}

function isIpv6Literal(host: string): boolean {
  return host.startsWith("[") && URL.canParse(`http://${host}/`);
}

function reasonAgainst(name: string): string {
  if (name.includes("/")) return "is no host; write the host alone, without scheme and path";
  if (name.includes("*")) {
    return "is no host; `*` stands alone or for the first label, as in `*.example.com`";
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: everything beyond ASCII
  if (/[^\u0000-\u007f]/.test(name) && URL.canParse(`http://${name}/`)) {
    return `is no host; write it as browsers send it, \`${new URL(`http://${name}/`).hostname}\``;
  }
  return "is no host; write a name such as `www.example.com`";
}

/** Finds the site that speaks for a host. The host is lower-case, without port and trailing dot. */
export type SiteLookup<Site> = (host: string) => Site | undefined;

/** Looks sites up in constant time: an exact name beats `*.example.com`, which beats `*`. */
export function createSiteLookup<Site extends Pick<Policy, "site">>(
  policies: readonly Site[],
): SiteLookup<Site> {
  const exact = new Map<string, Site>();
  const wildcard = new Map<string, Site>();
  for (const policy of policies) {
    for (const host of policy.site.hosts) {
      if (host.startsWith("*.")) wildcard.set(host.slice(2), policy);
      else exact.set(host, policy);
    }
  }
  const everything = exact.get("*");
  exact.delete("*");
  return (host) => {
    const named = exact.get(host);
    if (named !== undefined) return named;
    const dot = host.indexOf(".");
    const parent = dot > 0 ? wildcard.get(host.slice(dot + 1)) : undefined;
    return parent ?? everything;
  };
}
