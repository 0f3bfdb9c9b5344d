import {
  type AddressSet,
  type Cidr,
  createAddressSet,
  isPublicAddress,
  parseCidr,
} from "../cidr.ts";

/** A list that passed the guards. */
export interface AddressList {
  readonly kind: "list";
  readonly set: AddressSet;
  /** Canonical CIDR texts, each once, in the order of the document. */
  readonly prefixes: readonly string[];
  /** How many entries were left out, by reason. */
  readonly dropped: ReadonlyMap<string, number>;
}

export type AddressListResult = AddressList | { readonly kind: "refused"; readonly reason: string };

/** No list that is read here may verify more than a small part of the Internet. */
const NARROWEST_IPV4 = 12;
const NARROWEST_IPV6 = 24;
/** As many addresses as a /10 holds. */
const MAX_IPV4_ADDRESSES = 2 ** 22;
/** As many networks of /64 as 64 blocks of /32 hold. */
const MAX_IPV6_NETWORKS = 64 * 2 ** 32;

/**
 * Judges the entries of an address document: blocks too wide, not public or no addresses at all are
 * left out, each with its reason; a list of nothing else, or one that covers too much, is refused.
 */
export function createAddressList(entries: readonly string[]): AddressListResult {
  const cidrs = new Map<string, Cidr>();
  const dropped = new Map<string, number>();
  for (const entry of entries) {
    const result = judge(entry);
    if (result.kind === "cidr") cidrs.set(result.cidr.text, result.cidr);
    else dropped.set(result.reason, (dropped.get(result.reason) ?? 0) + 1);
  }
  if (cidrs.size === 0) return { kind: "refused", reason: emptyReason(dropped) };
  const set = createAddressSet(cidrs.values());
  if (set.ipv4Addresses > MAX_IPV4_ADDRESSES) {
    return refused(`covers ${set.ipv4Addresses} IPv4 addresses; ${MAX_IPV4_ADDRESSES} at most`);
  }
  if (set.ipv6Networks > MAX_IPV6_NETWORKS) {
    return refused(`covers ${set.ipv6Networks} IPv6 networks; ${MAX_IPV6_NETWORKS} at most`);
  }
  return { kind: "list", set, prefixes: [...cidrs.keys()], dropped };
}

type Judged =
  | { readonly kind: "cidr"; readonly cidr: Cidr }
  | { readonly kind: "dropped"; readonly reason: string };

function judge(entry: string): Judged {
  const result = parseCidr(entry);
  if (result.kind === "bad") return { kind: "dropped", reason: result.reason };
  const { cidr } = result;
  const narrowest = cidr.first.kind === "ipv4" ? NARROWEST_IPV4 : NARROWEST_IPV6;
  if (cidr.length < narrowest) {
    return { kind: "dropped", reason: `is wider than /${narrowest}` };
  }
  if (!isPublicAddress(cidr.first)) return { kind: "dropped", reason: "is not public" };
  return result;
}

function emptyReason(dropped: ReadonlyMap<string, number>): string {
  return `holds no usable prefix (${describeDropped(dropped)})`;
}

/** `3 entries: is not public; 1 entry: is wider than /12`, for people. */
export function describeDropped(dropped: ReadonlyMap<string, number>): string {
  return [...dropped]
    .map(([reason, count]) => `${count} ${count === 1 ? "entry" : "entries"}: ${reason}`)
    .join("; ");
}

function refused(reason: string): AddressListResult {
  return { kind: "refused", reason };
}

/** Below this many prefixes a list may change as it likes: small ones are replaced whole. */
const SMALL_LIST = 8;
/** IPv4 addresses, and IPv6 networks of /64, that a list may gain whatever it held before. */
const SMALL_GAIN_IPV4 = 2 ** 16;
const SMALL_GAIN_IPV6 = 2 ** 32;
const MOST_GROWTH = 16;

/**
 * Why a list differs too much from the one before it to be believed at once; undefined when it does
 * not. A torn upload looks like a shrunken list, and a mistaken or hijacked one like a grown list.
 */
export function suddenChange(before: AddressList, after: AddressList): string | undefined {
  const [had, has] = [before.prefixes.length, after.prefixes.length];
  const lostHalf =
    after.set.ipv4Addresses * 2 < before.set.ipv4Addresses ||
    after.set.ipv6Networks * 2 < before.set.ipv6Networks;
  if (had >= SMALL_LIST && has * 2 < had && lostHalf)
    return `shrank from ${had} to ${has} prefixes`;
  const grew =
    isGrown(before.set.ipv4Addresses, after.set.ipv4Addresses, SMALL_GAIN_IPV4) ||
    isGrown(before.set.ipv6Networks, after.set.ipv6Networks, SMALL_GAIN_IPV6);
  return grew ? `grew over ${MOST_GROWTH} times, from ${had} to ${has} prefixes` : undefined;
}

function isGrown(before: number, after: number, smallGain: number): boolean {
  return after > before * MOST_GROWTH && after - before > smallGain;
}
