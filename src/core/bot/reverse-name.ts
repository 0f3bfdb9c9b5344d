import { parseAddress } from "../cidr.ts";

/** The name under which the DNS keeps an address's PTR records; undefined when it is no address. */
export function reverseName(ip: string): string | undefined {
  const address = parseAddress(ip);
  if (address === undefined) return undefined;
  if (address.kind === "ipv4") return `${address.text.split(".").reverse().join(".")}.in-addr.arpa`;
  const nibbles = expandGroups(address.text).join("");
  return `${[...nibbles].reverse().join(".")}.ip6.arpa`;
}

/** The eight groups of a canonical IPv6 text, four digits each. */
function expandGroups(text: string): readonly string[] {
  const [head = "", tail] = text.split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  return [...before, ...zeros, ...after].map((group) => group.padStart(4, "0"));
}

const HOST_NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;
const MAX_NAME = 253;

/**
 * A name from the DNS as names are compared: lower-case, without the trailing dot. Undefined for
 * what is no host name: whoever holds a reverse zone writes anything into it, dots inside a label too.
 */
export function canonicalName(text: string): string | undefined {
  const name = (text.endsWith(".") ? text.slice(0, -1) : text).toLowerCase();
  return name.length <= MAX_NAME && HOST_NAME.test(name) ? name : undefined;
}

/** Whether a canonical name is a suffix's own domain or lies below it. Suffixes start with a dot. */
export function hasAllowedSuffix(name: string, suffixes: readonly string[]): boolean {
  return suffixes.some((suffix) => name.endsWith(suffix) || name === suffix.slice(1));
}
