import { createHmac } from "node:crypto";
import type { DecisionEvent } from "../event.ts";

/** How much of a client's address is written down: `truncated` keeps /24 or /48. */
export type IpPrivacy = "full" | "truncated" | "hashed" | "none";

/** What of a request may be kept. */
export interface EventPrivacy {
  readonly ip: IpPrivacy;
  readonly query: "keep" | "drop";
}

/**
 * The event with no more of the client's address and query than may be kept. `key` makes hashed
 * addresses: who lacks it cannot find the address by trying them all.
 */
export function protectEvent(
  event: DecisionEvent,
  privacy: EventPrivacy,
  key: Uint8Array,
): DecisionEvent {
  const ip = event.ip === null ? null : protectIp(event.ip, privacy.ip, key);
  const query = privacy.query === "keep" ? event.query : null;
  return ip === event.ip && query === event.query ? event : { ...event, ip, query };
}

/** An address in canonical text as it may be kept; null when it may not. */
export function protectIp(ip: string, privacy: IpPrivacy, key: Uint8Array): string | null {
  switch (privacy) {
    case "full":
      return ip;
    case "truncated":
      return truncateIp(ip);
    case "hashed":
      return createHmac("sha256", key).update(ip).digest("hex").slice(0, 32);
    case "none":
      return null;
  }
}

/** The network that an address is in: its /24, for IPv6 its /48; null for what is no address. */
function truncateIp(ip: string): string | null {
  if (!ip.includes(":")) {
    const octets = ip.split(".");
    return octets.length === 4 ? `${octets.slice(0, 3).join(".")}.0` : null;
  }
  const [head = "", tail] = ip.split("::", 2);
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  const groups = [...before, ...Array.from({ length: zeros }, () => "0"), ...after].slice(0, 3);
  // RFC 5952, 4.2: the run of zeros at the end is longer than any other.
  while (groups.at(-1) === "0") groups.pop();
  return `${groups.join(":")}::`;
}
