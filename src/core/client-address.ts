/** The client behind the proxies. */
export interface ClientAddress {
  /** Canonical text (RFC 5952; a mapped IPv4 address as IPv4), or empty when it cannot be told. */
  readonly ip: string;
  /** What limits count by: the address, for IPv6 its /64; the last good hop when `ip` is empty. */
  readonly limitKey: string;
  /** False for loopback, private, CGNAT, link-local, multicast, reserved and for no address at all. */
  readonly isPublic: boolean;
}
