/** The longest text of an IPv6 address, with a dotted IPv4 tail. */
const MAX_IPV6_LENGTH = 45;

/** Whether eight groups lie in ::ffff:0:0/96, where IPv6 holds IPv4 addresses. */
export function isMapped(groups: readonly number[]): boolean {
  return groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
}

/** Dotted IPv4 text as an unsigned 32-bit number, or -1: four decimal parts without leading zeros. */
export function parseIPv4(text: string): number {
  if (text.length < 7 || text.length > 15) return -1;
  let value = 0;
  let part = -1;
  let dots = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x2e) {
      value = appendPart(value, part);
      part = -1;
      dots++;
    } else {
      part = appendDigit(part, code);
    }
  }
  const address = appendPart(value, part);
  return dots === 3 && address >= 0 ? address : -1;
}

/** The value with one more octet; NaN, which stays, when there is no octet. */
function appendPart(value: number, part: number): number {
  return part >= 0 ? value * 256 + part : Number.NaN;
}

/** The octet (-1: none yet) with one more digit; NaN, which stays, when that is no octet. */
function appendDigit(part: number, code: number): number {
  const digit = code - 0x30;
  if (digit < 0 || digit > 9 || part === 0) return Number.NaN;
  const octet = part < 0 ? digit : part * 10 + digit;
  return octet > 255 ? Number.NaN : octet;
}

/** IPv6 text as eight 16-bit groups, or undefined. A mapped address stays as it is written. */
export function parseIPv6Groups(text: string): readonly number[] | undefined {
  if (text.length > MAX_IPV6_LENGTH) return undefined;
  const gap = text.indexOf("::");
  const tail = readGroups(gap < 0 ? text : text.slice(gap + 2), true);
  if (tail === undefined) return undefined;
  if (gap < 0) return tail.length === 8 ? tail : undefined;
  const head = readGroups(text.slice(0, gap), false);
  if (head === undefined || head.length + tail.length > 7) return undefined;
  while (head.length + tail.length < 8) head.push(0);
  return head.concat(tail);
}

/** Groups between single colons; the last may be dotted IPv4 where `dotted`. No text, no groups. */
function readGroups(text: string, dotted: boolean): number[] | undefined {
  const groups: number[] = [];
  if (text === "") return groups;
  const parts = text.split(":");
  const last = parts[parts.length - 1] ?? "";
  const ipv4 = dotted && last.includes(".") ? parseIPv4(last) : -1;
  if (ipv4 >= 0) parts.pop();
  for (const part of parts) {
    const group = parseGroup(part);
    if (group < 0) return undefined;
    groups.push(group);
  }
  if (ipv4 >= 0) groups.push(ipv4 >>> 16, ipv4 & 0xffff);
  return groups;
}

/** One to four hexadecimal digits as a number, or -1. */
function parseGroup(text: string): number {
  if (text.length === 0 || text.length > 4) return -1;
  let value = 0;
  for (let index = 0; index < text.length; index++) {
    const digit = hexValue(text.charCodeAt(index));
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

/** The value of a hexadecimal digit given by its character code, or -1. */
export function hexValue(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/** An unsigned 32-bit number as dotted IPv4. */
export function formatIPv4(value: number): string {
  return `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}`;
}

/** Eight groups as RFC 5952 writes them: the first of the longest runs of zeros becomes `::`. */
export function formatIPv6(groups: readonly number[]): string {
  const { start, length } = longestZeroRun(groups);
  if (length < 2) return hexOf(groups, 0, 8).join(":");
  const before = start === 0 ? [""] : hexOf(groups, 0, start);
  const after = start + length === 8 ? [""] : hexOf(groups, start + length, 8);
  return [...before, "", ...after].join(":");
}

/** The /64 of its first four groups as RFC 5952 writes it: the zeros at the end are the longest run. */
export function formatIPv6Network64(groups: readonly number[]): string {
  let end = 4;
  while (end > 0 && groups[end - 1] === 0) end--;
  return `${hexOf(groups, 0, end).join(":")}::/64`;
}

function hexOf(groups: readonly number[], start: number, end: number): string[] {
  const texts: string[] = [];
  for (let index = start; index < end; index++) {
    const group = groups[index] ?? 0;
    texts.push(group < 256 ? (HEX[group] ?? "") : `${HEX[group >>> 8]}${BYTES[group & 255]}`);
  }
  return texts;
}

// Node's own conversion to base 16 takes as long as all the rest of reading an address.
const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16));
const BYTES: readonly string[] = HEX.map((hex) => hex.padStart(2, "0"));

function longestZeroRun(groups: readonly number[]): { start: number; length: number } {
  const best = { start: 0, length: 0 };
  let length = 0;
  for (let index = 0; index < groups.length; index++) {
    length = groups[index] === 0 ? length + 1 : 0;
    if (length > best.length) {
      best.start = index + 1 - length;
      best.length = length;
    }
  }
  return best;
}
