import type { AddressSet } from "../core/cidr.ts";
import { readClientAddress } from "../core/client-address.ts";
import type { EventSubject } from "../core/event.ts";
import type { Policy } from "../core/policy/policy.ts";
import type { CrawlRequest, HeaderFields } from "../core/request.ts";
import { parseTarget } from "../core/target.ts";
import type { Forwarded } from "./forwarded.ts";
import { decodeFieldValue } from "./header-fields.ts";

/** What a visitor asked, or why that cannot be judged. */
export type Visitor =
  | { readonly kind: "judged"; readonly request: CrawlRequest }
  | { readonly kind: "malformed"; readonly status: 400 | 414; readonly reason: string };

/** RFC 9110, 5.6.2: the characters of a token. */
const METHOD = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$/;

/** Reads a visitor's request out of what the proxy forwarded (contract 3 and 4). */
export function readVisitor(
  forwarded: Forwarded,
  host: string,
  headers: HeaderFields,
  policy: Policy,
  trustedProxies: AddressSet | undefined,
): Visitor {
  const { method, scheme } = forwarded;
  if (!METHOD.test(method)) return malformed("malformed_method");
  const found = readClientAddress(forwarded.forwardedFor, trustedProxies);
  if (found.kind === "malformed") return malformed("malformed_address");
  const parsed = parseTarget(forwarded.uri, policy.site.caseInsensitivePaths);
  if (parsed.kind === "malformed") return parsed;
  const { target } = parsed;
  const { address } = found;
  const userAgent = decodeFieldValue(forwarded.userAgent);
  const authority = authorityOf(forwarded.host, scheme);
  const request = { method, scheme, host, authority, target, address, userAgent, headers };
  return { kind: "judged", request };
}

function malformed(reason: string): Visitor {
  return { kind: "malformed", status: 400, reason };
}

/** What the record names of a request that the rules do not judge, as far as it can be read. */
export function subjectOf(
  forwarded: Forwarded,
  host: string,
  trustedProxies: AddressSet | undefined,
): EventSubject {
  const found = readClientAddress(forwarded.forwardedFor, trustedProxies);
  const parsed = parseTarget(forwarded.uri, false);
  const { rawPath, query } = parsed.kind === "malformed" ? parsed : parsed.target;
  return {
    host,
    method: forwarded.method,
    path: parsed.kind === "malformed" ? rawPath : parsed.target.readings[0],
    rawPath,
    query,
    ip: found.kind === "address" ? found.address.ip : "",
    userAgent: decodeFieldValue(forwarded.userAgent),
  };
}

const DEFAULT_PORT = { http: ":80", https: ":443" } as const;

/** RFC 9421, 2.2.3: lower-case, without the port that the scheme implies. */
function authorityOf(host: string, scheme: "http" | "https"): string {
  const lower = host.toLowerCase();
  const port = DEFAULT_PORT[scheme];
  return lower.endsWith(port) ? lower.slice(0, -port.length) : lower;
}

/** A host as sites are found by it: lower-case, without port and trailing dot (contract 4). */
export function normaliseHost(host: string): string {
  const lower = host.toLowerCase();
  const closing = lower.lastIndexOf("]");
  const colon = lower.lastIndexOf(":");
  const name = colon > closing ? lower.slice(0, colon) : lower;
  return name.endsWith(".") ? name.slice(0, -1) : name;
}
