import { lookup } from "node:dns";
import type { LookupFunction } from "node:net";
import { createAddressSet, isPublicAddress, parseAddress, parseCidr } from "../core/cidr.ts";

/** A connection that was refused before it was made: its address is not public. */
export class NotPublicError extends Error {
  constructor(host: string) {
    super(`\`${host}\` has an address that is not public`);
  }
}

// No host of the Internet has these, though examples use them as clients.
const DOCUMENTATION = createAddressSet(
  ["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"].flatMap(
    (text) => {
      const block = parseCidr(text);
      return block.kind === "cidr" ? [block.cidr] : [];
    },
  ),
);

/**
 * Whether a URL's host is itself an address, or the name, of this machine or of a private network.
 * Node resolves no literal, so `lookupPublic` never sees one.
 */
export function isPrivateLiteral(url: URL): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (/(?:^|\.)localhost\.?$/.test(host)) return true;
  return parseAddress(host) !== undefined && !isPublicText(host);
}

/**
 * Resolves a name for one connection, which then goes to exactly the addresses that were judged. One
 * address that is not public refuses them all: which one is used is for chance to say.
 */
export const lookupPublic: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) {
      callback(error, "");
      return;
    }
    const [first] = addresses;
    if (first === undefined || !addresses.every(({ address }) => isPublicText(address))) {
      callback(new NotPublicError(hostname), "");
      return;
    }
    if (options.all === true) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};

function isPublicText(text: string): boolean {
  const address = parseAddress(text);
  return (
    address !== undefined && isPublicAddress(address) && DOCUMENTATION.find(address) === undefined
  );
}
