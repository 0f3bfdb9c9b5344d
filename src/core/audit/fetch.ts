/** Why no usable HTTP response came. */
export type FetchFault =
  | "dns"
  | "connect"
  | "tls"
  | "timeout"
  | "reset"
  | "protocol"
  | "incomplete"
  | "decode"
  | "redirect_limit"
  | "redirect_loop"
  | "blocked_address";

/** What is known of a fetch, however it ended. */
interface FetchFacts {
  /** The first URL that was asked for. */
  readonly url: string;
  /** The last one, or the one that was refused. */
  readonly finalUrl: string;
  /** The URLs that redirects led to, in order. */
  readonly redirects: readonly string[];
  /** Rounds, redirects not counted: 2 after a retry. */
  readonly attempts: number;
}

/** A response: whatever its status, as much of its body as was read. A redirect here led nowhere. */
export interface RobotsResponse extends FetchFacts {
  readonly kind: "response";
  readonly status: number;
  readonly contentType: string | undefined;
  /** Decoded, at most 512,000 bytes. */
  readonly body: Uint8Array;
  /** Whether more came than was kept. */
  readonly isCut: boolean;
  /** Bytes of the body on the wire, as far as it was read. */
  readonly wireBytes: number;
}

/** No response that could be used. */
export interface RobotsFailure extends FetchFacts {
  readonly kind: "failure";
  readonly fault: FetchFault;
  /** For people: an error code, or the class of an address that was refused. */
  readonly cause: string;
  /** Of the last redirect, where redirects are the fault. */
  readonly status: number | undefined;
}

/** How asking for a robots.txt ended. */
export type RobotsFetch = RobotsResponse | RobotsFailure;
