import { type AddressSet, type Cidr, createAddressSet, parseAddress, parseCidr } from "../cidr.ts";

/**
 * Whether `path` is `prefix` or lies below it, by whole segments: `/archive` holds `/archive` and
 * `/archive/a`, not `/archives`. Slashes at the end of `prefix` do not count; `/` holds every path.
 */
export function pathUnder(path: string, prefix: string): boolean {
  const base = withoutSlashes(prefix);
  if (!path.startsWith(base)) return false;
  return path.length === base.length || path.charCodeAt(base.length) === SLASH;
}

const SLASH = 0x2f;

/** A path prefix without slashes at its end: what {@link pathUnder} compares with. */
export function withoutSlashes(prefix: string): string {
  let end = prefix.length;
  while (end > 0 && prefix.charCodeAt(end - 1) === SLASH) end--;
  return prefix.slice(0, end);
}

/**
 * Whether an address lies in a block. A text that is no address (the empty one of an unknown client,
 * a header's) lies in none. Throws when `cidr` is not a block: in CEL that is an error of the rule.
 */
export function inCidr(ip: string, cidr: string): boolean {
  const result = readBlocks([cidr]);
  if (result.kind === "bad") throw new Error(`\`${cidr}\` ${result.reason}`);
  return isInBlocks(ip, result.blocks);
}

/** Blocks of addresses as one set, or what is wrong with the first that is none. */
export function readBlocks(
  texts: readonly string[],
):
  | { readonly kind: "blocks"; readonly blocks: AddressSet }
  | { readonly kind: "bad"; readonly reason: string } {
  const cidrs: Cidr[] = [];
  for (const text of texts) {
    const result = parseCidr(text);
    if (result.kind === "bad") return result;
    cidrs.push(result.cidr);
  }
  return { kind: "blocks", blocks: createAddressSet(cidrs) };
}

/** {@link inCidr} for blocks that were read before. */
export function isInBlocks(ip: string, blocks: AddressSet): boolean {
  const address = parseAddress(ip);
  return address !== undefined && blocks.find(address) !== undefined;
}
