/** How far a claim to be a bot is proved (contract 1). */
export type Verification = "verified" | "refuted" | "unverifiable" | "unavailable";

/** Every outcome, in a fixed order, so that tables can be indexed by it. */
export const VERIFICATIONS: readonly Verification[] = [
  "verified",
  "refuted",
  "unverifiable",
  "unavailable",
];

/** Where an address list comes from. */
export type AddressSource =
  | {
      readonly kind: "url";
      readonly url: string;
      readonly format: string;
      readonly pointer: string | undefined;
    }
  | {
      readonly kind: "file";
      /** As written in the policy; relative to the policy file. */
      readonly file: string;
      readonly format: string;
      readonly pointer: string | undefined;
    };

/** One way to prove that a client is the bot it claims to be. */
export type BotVerifier =
  | {
      readonly kind: "ip_ranges";
      readonly sources: readonly AddressSource[];
      readonly refreshMs: number;
      readonly staleAction: "fail_closed" | "use_stale";
      readonly maxStaleMs: number;
    }
  | { readonly kind: "static_ranges"; readonly cidrs: readonly string[] }
  /** Suffixes start with a dot and are lower-case. */
  | { readonly kind: "reverse_dns"; readonly allowedSuffixes: readonly string[] }
  /** Key directories: https origins. */
  | { readonly kind: "web_bot_auth"; readonly directories: readonly string[] };

/** How a User-Agent is told to claim this bot. */
export interface UserAgentMatch {
  /** Product tokens, found at boundaries in any ASCII case. */
  readonly userAgents: readonly string[];
  /** Whole User-Agent values. */
  readonly exact: readonly string[];
  /** Tokens that count only at the start of the value. */
  readonly anchored: readonly string[];
  /** Texts whose presence takes the claim back. */
  readonly mustNot: readonly string[];
}

/** A known crawler, or `unknown` for everybody else. A match is a claim until it is verified. */
export interface Bot {
  readonly id: string;
  readonly name: string;
  readonly class: string;
  /** Empty when the policy does not say. */
  readonly operator: string;
  readonly match: UserAgentMatch;
  /** Empty for `verify: none`: such a claim is `unverifiable`. */
  readonly verifiers: readonly BotVerifier[];
  /** The product token of its robots.txt group; empty when no group can name it. */
  readonly robotsToken: string;
  /** True for the one bot that stands for "no known crawler": nothing is claimed by it. */
  readonly isDefault: boolean;
}

/** Whether a claim to be this bot can be proved at all: constant, `bot.verifiable` in CEL. */
export function isVerifiable(bot: Bot): boolean {
  return bot.verifiers.length > 0;
}
