import { type AddressSet, createAddressSet, parseAddress, parseCidr } from "../cidr.ts";

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
  return isInBlocks(ip, blocksOf([cidr]));
}

/** Blocks as one set. Throws at the first text that is not a block, with the reason. */
export function blocksOf(texts: readonly string[]): AddressSet {
  return createAddressSet(
    texts.map((text) => {
      const result = parseCidr(text);
      if (result.kind === "bad") throw new Error(`\`${text}\` ${result.reason}`);
      return result.cidr;
    }),
  );
}

/** {@link inCidr} for blocks that were read before. */
export function isInBlocks(ip: string, blocks: AddressSet): boolean {
  const address = parseAddress(ip);
  return address !== undefined && blocks.find(address) !== undefined;
}
