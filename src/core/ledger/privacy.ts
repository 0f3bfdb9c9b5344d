import type { DecisionEvent } from "../event.ts";
import { type IpPrivacy, maskAddress } from "../mask-address.ts";

/** What of a request may be kept. */
export interface EventPrivacy {
  readonly ip: IpPrivacy;
  readonly query: "keep" | "drop";
}

/**
 * The event with no more of the client's address and query than may be kept. `hashAddress` is asked
 * only for hashed addresses.
 */
export function protectEvent(
  event: DecisionEvent,
  privacy: EventPrivacy,
  hashAddress: (ip: string) => string,
): DecisionEvent {
  const ip = maskAddress(event.ip, privacy.ip, hashAddress);
  const query = privacy.query === "keep" ? event.query : null;
  return ip === event.ip && query === event.query ? event : { ...event, ip, query };
}
