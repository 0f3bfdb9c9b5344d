import type { ClientAddress } from "./client-address.ts";
import type { Target } from "./target.ts";

/** The header fields of a request as rules see them (contract 4): lower-case names, repeats joined. */
export interface HeaderFields {
  /** The value of one field, or undefined when it is absent. `name` is lower-case. */
  get(name: string): string | undefined;
  /** All fields; built on first use, for the rare rule that walks over the map. */
  all(): ReadonlyMap<string, string>;
}

/** What a client asked of the proxy, as far as a decision may know it. */
export interface CrawlRequest {
  /** As received: an RFC 9110 token of at most 32 characters, case kept. */
  readonly method: string;
  readonly scheme: "http" | "https";
  /** Lower-case, without port and trailing dot. */
  readonly host: string;
  /** The host as signatures cover it: lower-case, with the port where it is not the scheme's own. */
  readonly authority: string;
  readonly target: Target;
  readonly address: ClientAddress;
  /** Empty when the client sent none. */
  readonly userAgent: string;
  readonly headers: HeaderFields;
  /** Ids of the bots whose lists hold the address: there only where a rule reads `bot.by_ip`. */
  readonly byIp?: readonly string[];
}
