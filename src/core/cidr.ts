import { createTable, findBlock, maskOf } from "./address-table.ts";
import { formatIPv4, formatIPv6, isMapped, parseIPv4, parseIPv6Groups } from "./address-text.ts";

/** An IPv4 or IPv6 address: canonical text (RFC 5952) and its bits. */
export interface Address {
  readonly kind: "ipv4" | "ipv6";
  readonly text: string;
  /** Unsigned 32-bit words, most significant first: one for IPv4, four for IPv6. */
  readonly words: readonly number[];
}

/**
 * Reads one address, strictly: no octal, short or hexadecimal IPv4, no zone, port or brackets.
 * An IPv4-mapped IPv6 address becomes the IPv4 address. Undefined when the text is not an address.
 */
export function parseAddress(text: string): Address | undefined {
  const value = parseIPv4(text);
  if (value >= 0) return { kind: "ipv4", text, words: [value] };
  const groups = parseIPv6Groups(text);
  return groups === undefined ? undefined : addressOfGroups(groups);
}

/** The address that eight 16-bit groups hold; an IPv4-mapped one (RFC 4291 2.5.5.2) as IPv4. */
function addressOfGroups(groups: readonly number[]): Address {
  const words = wordsOf(groups);
  const last = words[3] ?? 0;
  if (isMapped(groups)) return { kind: "ipv4", text: formatIPv4(last), words: [last] };
  return { kind: "ipv6", text: formatIPv6(groups), words };
}

function wordsOf(groups: readonly number[]): readonly number[] {
  return [wordAt(groups, 0), wordAt(groups, 2), wordAt(groups, 4), wordAt(groups, 6)];
}

function wordAt(groups: readonly number[], index: number): number {
  return (groups[index] ?? 0) * 0x10000 + (groups[index + 1] ?? 0);
}

/** Blocks of IPv4, first and last address, that no client on the Internet has. */
const NOT_PUBLIC_IPV4: readonly (readonly [number, number])[] = [
  [0x00000000, 0x00ffffff], // 0.0.0.0/8, this network
  [0x0a000000, 0x0affffff], // 10.0.0.0/8, private
  [0x64400000, 0x647fffff], // 100.64.0.0/10, carrier-grade NAT
  [0x7f000000, 0x7fffffff], // 127.0.0.0/8, loopback
  [0xa9fe0000, 0xa9feffff], // 169.254.0.0/16, link-local
  [0xac100000, 0xac1fffff], // 172.16.0.0/12, private
  [0xc0000000, 0xc00000ff], // 192.0.0.0/24, protocol assignments
  [0xc0586300, 0xc05863ff], // 192.88.99.0/24, 6to4 relays
  [0xc0a80000, 0xc0a8ffff], // 192.168.0.0/16, private
  [0xc6120000, 0xc613ffff], // 198.18.0.0/15, benchmarks
  [0xe0000000, 0xffffffff], // 224.0.0.0/3, multicast, reserved, broadcast
];

// Flat, as numbers from 2^31 on are slow to take out of arrays of arrays.
const FIRSTS: Float64Array = Float64Array.from(NOT_PUBLIC_IPV4, ([first]) => first);
const LASTS: Float64Array = Float64Array.from(NOT_PUBLIC_IPV4, ([, last]) => last);

/** By the first octet, whether any such block starts with it: for most addresses none does. */
const HAS_NOT_PUBLIC: Uint8Array = Uint8Array.from({ length: 256 }, (_, octet) =>
  Number(NOT_PUBLIC_IPV4.some(([first, last]) => first >>> 24 <= octet && octet <= last >>> 24)),
);

/**
 * Whether a client on the Internet can have this address, by the special-purpose registries of IANA
 * (RFC 6890). Documentation ranges count as public: examples and fixtures use them as clients.
 */
export function isPublicAddress(address: Address): boolean {
  const first = address.words[0] ?? 0;
  return address.kind === "ipv4" ? isPublicIPv4(first) : isPublicIPv6(first);
}

/** {@link isPublicAddress} for an IPv4 address as an unsigned 32-bit number. */
export function isPublicIPv4(value: number): boolean {
  if (HAS_NOT_PUBLIC[value >>> 24] === 0) return true;
  let index = 0;
  while (value > (LASTS[index] ?? value)) index += 1;
  return value < (FIRSTS[index] ?? Number.POSITIVE_INFINITY);
}

/** Only 2000::/3 is given out; of it 2001::/23 (Teredo and more), 2002::/16 (6to4) are not clients. */
function isPublicIPv6(first: number): boolean {
  if (first >>> 29 !== 1) return false;
  return first >>> 9 !== 0x20010000 >>> 9 && first >>> 16 !== 0x2002;
}

/** A block of addresses. */
export interface Cidr {
  /** Canonical: `203.0.113.0/24`, host bits cleared, the length always written. */
  readonly text: string;
  /** The first address of the block. */
  readonly first: Address;
  /** Leading bits that count: 0 to 32 for IPv4, 0 to 128 for IPv6. */
  readonly length: number;
  /** True when the text had bits set after the prefix, as `203.0.113.7/24` has; they were cleared. */
  readonly hasHostBits: boolean;
}

/** What `parseCidr` made of a text; `reason` follows the operator's words in a message. */
export type CidrResult =
  | { readonly kind: "cidr"; readonly cidr: Cidr }
  | { readonly kind: "bad"; readonly reason: string };

/**
 * Reads `address/length`, or a bare address as a block of one. Blocks inside ::ffff:0:0/96 become
 * IPv4 blocks, so that no width check mistakes a mapped 0.0.0.0/0 for a narrow one.
 */
export function parseCidr(text: string): CidrResult {
  const slash = text.indexOf("/");
  const addressText = slash < 0 ? text : text.slice(0, slash);
  const lengthText = slash < 0 ? undefined : text.slice(slash + 1);
  const value = parseIPv4(addressText);
  if (value >= 0) return ipv4Block(value, parseLength(lengthText, 32));
  const groups = parseIPv6Groups(addressText);
  if (groups === undefined) return bad("is not an address or CIDR block");
  const length = parseLength(lengthText, 128);
  return isMapped(groups) ? mappedBlock(groups, length) : ipv6Block(groups, length);
}

function bad(reason: string): CidrResult {
  return { kind: "bad", reason };
}

/** A decimal length up to `width`, without leading zeros; `width` when there is no text; else -1. */
function parseLength(text: string | undefined, width: number): number {
  if (text === undefined) return width;
  const length = Number(text);
  return String(length) === text && length >= 0 && length <= width && Number.isInteger(length)
    ? length
    : -1;
}

function ipv4Block(value: number, length: number): CidrResult {
  if (length < 0) return bad("has a bad prefix length; IPv4 takes 0 to 32");
  const network = (value & maskOf(length, 0)) >>> 0;
  const text = formatIPv4(network);
  return {
    kind: "cidr",
    cidr: {
      text: `${text}/${length}`,
      first: { kind: "ipv4", text, words: [network] },
      length,
      hasHostBits: network !== value,
    },
  };
}

function mappedBlock(groups: readonly number[], length: number): CidrResult {
  if (length < 0) return bad("has a bad prefix length; IPv6 takes 0 to 128");
  if (length < 96) {
    return bad("is an IPv4-mapped block wider than all of IPv4; write it as IPv4 or IPv6");
  }
  return ipv4Block(addressOfGroups(groups).words[0] ?? 0, length - 96);
}

function ipv6Block(groups: readonly number[], length: number): CidrResult {
  if (length < 0) return bad("has a bad prefix length; IPv6 takes 0 to 128");
  const network = groups.map((group, index) => {
    const bits = Math.min(Math.max(length - index * 16, 0), 16);
    return group & (0xffff << (16 - bits)) & 0xffff;
  });
  const words = wordsOf(network);
  const text = formatIPv6(network);
  return {
    kind: "cidr",
    cidr: {
      text: `${text}/${length}`,
      first: { kind: "ipv6", text, words },
      length,
      hasHostBits: network.some((group, index) => group !== groups[index]),
    },
  };
}

/** Blocks of addresses, made to be asked often: a look-up takes the logarithm of their number. */
export interface AddressSet {
  /** Blocks kept: one that lies inside another, or is listed twice, is not counted. */
  readonly size: number;
  /** IPv4 addresses covered, each once. */
  readonly ipv4Addresses: number;
  /** IPv6 networks of /64 covered, each once; a longer prefix counts as its fraction. */
  readonly ipv6Networks: number;
  /** The canonical text of the widest block that holds the address, or undefined. */
  find(address: Address): string | undefined;
}

/** Makes a set of blocks, in any order; 100,000 take about a tenth of a second. */
export function createAddressSet(cidrs: Iterable<Cidr>): AddressSet {
  const all = [...cidrs];
  const ipv4 = createTable(all.filter((cidr) => cidr.first.kind === "ipv4"));
  const ipv6 = createTable(all.filter((cidr) => cidr.first.kind === "ipv6"));
  return {
    size: ipv4.texts.length + ipv6.texts.length,
    ipv4Addresses: ipv4.lengths.reduce((sum, length) => sum + 2 ** (32 - length), 0),
    ipv6Networks: ipv6.lengths.reduce((sum, length) => sum + 2 ** (64 - length), 0),
    find: (address) => findBlock(address.kind === "ipv4" ? ipv4 : ipv6, address.words),
  };
}
