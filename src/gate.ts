import type { Bot } from "./core/bot/bot.ts";
import type { Check, Proof } from "./core/bot/proof.ts";
import type { DecisionEvent } from "./core/event.ts";
import type { Allowance, Charge } from "./core/limit.ts";
import type { CrawlRequest } from "./core/request.ts";

/** Proves claims. `check` answers from memory alone; only `prove` may wait, up to its own deadline. */
export interface VerifierPort {
  check(bot: Bot, request: CrawlRequest, nowMs: number): Check;
  /** Never rejects: what cannot be completed in time is `unavailable`. */
  prove(bot: Bot, request: CrawlRequest, nowMs: number): Promise<Proof>;
}

/** Takes one token for each charge: all of those that can refuse, or none. */
export type SpendPort = (
  charges: readonly Charge[],
  nowMs: number,
) => Allowance | Promise<Allowance>;

/** Keeps an event. Never throws, never waits. */
export type RecordPort = (event: DecisionEvent) => void;
