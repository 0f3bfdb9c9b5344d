import { parseAddress } from "./cidr.ts";

/** How much of a client's address is written down (contract 2, `--log-ip`). */
export type IpPrivacy = "full" | "truncated" | "hashed" | "none";

/**
 * A client's address as it may be written down: whole, cut to its /24 or /48, as a keyed hash, or not
 * at all. `hash` is asked only for `hashed`.
 */
export function maskAddress(
  ip: string | null,
  privacy: IpPrivacy,
  hash: (ip: string) => string,
): string | null {
  if (ip === null || privacy === "full") return ip;
  if (privacy === "none") return null;
  return privacy === "hashed" ? hash(ip) : truncate(ip);
}

function truncate(ip: string): string | null {
  if (!ip.includes(":")) return `${ip.slice(0, ip.lastIndexOf("."))}.0`;
  const groups = expand(ip).slice(0, 3);
  // Through the parser, so that the text is the canonical one (RFC 5952).
  return parseAddress(`${groups.join(":")}::`)?.text ?? null;
}

/** The first groups of an IPv6 address, zeros that `::` stands for written out. */
function expand(ip: string): readonly string[] {
  const [head = "", tail] = ip.split("::");
  const before = head === "" ? [] : head.split(":");
  if (tail === undefined) return before;
  const after = tail === "" ? [] : tail.split(":");
  const zeros = Array<string>(Math.max(0, 8 - before.length - after.length)).fill("0");
  return [...before, ...zeros, ...after];
}
