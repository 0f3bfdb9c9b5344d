import { formatIPv6Network64, parseIPv4 } from "./address-text.ts";
import {
  type Address,
  type AddressSet,
  isPublicAddress,
  isPublicIPv4,
  parseAddress,
} from "./cidr.ts";

/** The client behind the proxies. */
export interface ClientAddress {
  /** Canonical text (RFC 5952; a mapped IPv4 address as IPv4), or empty when it cannot be told. */
  readonly ip: string;
  /** What limits count by: the address, for IPv6 its /64; the last good hop when `ip` is empty. */
  readonly limitKey: string;
  /** False for loopback, private, CGNAT, link-local, multicast, reserved and for no address at all. */
  readonly isPublic: boolean;
}

/** What X-Forwarded-For says; `malformed` only without trusted proxies. */
export type ClientAddressResult =
  | { readonly kind: "address"; readonly address: ClientAddress }
  | { readonly kind: "malformed" };

/** Hops of a chain that are looked at; one more ends the walk without an address. */
const MAX_HOPS = 32;
/** The longest zone that is cut from a link-local address (an interface name has 15 at most). */
const MAX_ZONE_LENGTH = 32;
const MALFORMED: ClientAddressResult = { kind: "malformed" };

/**
 * The client's address by X-Forwarded-For (contract 4). Without `trusted` the header must be one
 * address. With it, the hops are walked from the right past trusted ones to the first other, or to
 * the left-most; a hop that is no address, or a 33rd, leaves the client without an address.
 * `limitKey` is empty only where no hop at all could be read.
 */
export function readClientAddress(
  xForwardedFor: string,
  trusted: AddressSet | undefined,
): ClientAddressResult {
  if (trusted !== undefined) return { kind: "address", address: walk(xForwardedFor, trusted) };
  const value = parseIPv4(xForwardedFor);
  if (value >= 0) {
    return {
      kind: "address",
      address: { ip: xForwardedFor, limitKey: xForwardedFor, isPublic: isPublicIPv4(value) },
    };
  }
  const address = parseHop(xForwardedFor);
  return address === undefined ? MALFORMED : { kind: "address", address: clientAt(address) };
}

function walk(chain: string, trusted: AddressSet): ClientAddress {
  let lastGood: Address | undefined;
  let end = chain.length;
  for (let hops = 0; hops < MAX_HOPS; hops++) {
    const comma = end === 0 ? -1 : chain.lastIndexOf(",", end - 1);
    const hop = parseHop(chain.slice(comma + 1, end));
    if (hop === undefined) break;
    if (comma < 0 || trusted.find(hop) === undefined) return clientAt(hop);
    lastGood = hop;
    end = comma;
  }
  const limitKey = lastGood === undefined ? "" : limitKeyOf(lastGood);
  return { ip: "", limitKey, isPublic: false };
}

function clientAt(address: Address): ClientAddress {
  return {
    ip: address.text,
    limitKey: limitKeyOf(address),
    isPublic: isPublicAddress(address),
  };
}

/** One client commonly has a whole /64 of IPv6, so that is what counts as one. */
function limitKeyOf(address: Address): string {
  if (address.kind === "ipv4") return address.text;
  const [high = 0, low = 0] = address.words;
  return formatIPv6Network64([high >>> 16, high & 0xffff, low >>> 16, low & 0xffff]);
}

/** `1.2.3.4`, `1.2.3.4:80`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:443`; a zone is cut. */
function parseHop(text: string): Address | undefined {
  const hop = trimBlanks(text);
  if (hop.startsWith("[")) return parseBracketed(hop);
  const colon = hop.indexOf(":");
  const isPortAfterIPv4 = colon > 0 && hop.indexOf(":", colon + 1) < 0;
  if (!isPortAfterIPv4) return parseAddress(cutZone(hop));
  return isPort(hop, colon + 1) ? parseIPv4Hop(hop.slice(0, colon)) : undefined;
}

function parseBracketed(hop: string): Address | undefined {
  const close = hop.indexOf("]");
  if (close < 0) return undefined;
  const isRestRight =
    close === hop.length - 1 || (hop[close + 1] === ":" && isPort(hop, close + 2));
  const inner = cutZone(hop.slice(1, close));
  return isRestRight && inner.includes(":") ? parseAddress(inner) : undefined;
}

function parseIPv4Hop(text: string): Address | undefined {
  return parseIPv4(text) < 0 ? undefined : parseAddress(text);
}

/** Spaces and tabs around a list element (RFC 9110 5.6.1). */
function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

function isPort(text: string, start: number): boolean {
  const length = text.length - start;
  if (length < 1 || length > 5) return false;
  for (let index = start; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x30 || code > 0x39) return false;
  }
  return true;
}

/** An IPv6 address without its zone (`fe80::1%eth0`, RFC 4007 11); other text as it came. */
function cutZone(text: string): string {
  const percent = text.indexOf("%");
  if (percent < 0 || !text.includes(":")) return text;
  const zone = text.slice(percent + 1, percent + 2 + MAX_ZONE_LENGTH);
  return /^[\w.~-]{1,32}$/.test(zone) ? text.slice(0, percent) : text;
}
