import type { Verification } from "./bot/bot.ts";
import type { Evidence } from "./bot/proof.ts";
import type { DecisionAction } from "./decision.ts";

export interface EventShadowedRule {
  readonly rule_id: string;
  readonly action: DecisionAction;
  readonly status: number;
}

export interface EventFault {
  readonly rule_id: string;
  readonly message: string;
}

/**
 * One line of the decision log and of the ledger (contract 6). The names are the columns; null is
 * "absent" (the one place where null is right, since it is what JSON and SQL have).
 */
export interface DecisionEvent {
  readonly id: string;
  /** RFC 3339, UTC, milliseconds. */
  readonly ts: string;
  readonly request_id: string | null;
  readonly site_id: string | null;
  readonly host: string;
  readonly method: string;
  readonly path: string;
  readonly raw_path: string | null;
  readonly query: string | null;
  readonly reading: string | null;
  readonly ip: string | null;
  readonly user_agent: string | null;
  readonly bot_id: string;
  readonly bot_class: string;
  readonly bot_operator: string | null;
  readonly claimed: boolean;
  readonly verified: boolean;
  readonly verification: Verification | "not_needed";
  readonly evidence: Evidence | null;
  readonly action: DecisionAction;
  readonly rule_id: string;
  readonly reason: string | null;
  /** What the proxy was told. */
  readonly status: number;
  readonly mode: "shadow" | "observe" | "enforce" | null;
  readonly enforced: boolean;
  readonly would_block: boolean;
  readonly shadowed: readonly EventShadowedRule[];
  readonly faults: readonly EventFault[];
  readonly tags: readonly string[];
  readonly price_amount: string | null;
  readonly price_currency: string | null;
  readonly price_unit: string | null;
  readonly receipt_id: string | null;
  readonly receipt: string | null;
  readonly policy_hash: string | null;
  readonly duration_us: number;
}
