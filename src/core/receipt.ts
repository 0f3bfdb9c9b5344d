import { createHash } from "node:crypto";
import { canonicalJson } from "./canonical-json.ts";
import type { DecisionEvent } from "./event.ts";

/** The `typ` of a receipt's header, so that no other token of the same key can pass for one. */
export const RECEIPT_TYPE = "crawlwall-receipt+jwt";

export interface ReceiptPrice {
  /** A decimal, as the policy wrote it. */
  readonly amount: string;
  /** ISO 4217. */
  readonly currency: string;
  readonly unit: string;
}

/** What a receipt says (contract 6); absent values are null, so that each claim is always there. */
export interface ReceiptClaims {
  /** The site's id. */
  readonly iss: string | null;
  /** When it was decided: whole seconds since the epoch. */
  readonly iat: number;
  /** The event's id. */
  readonly jti: string;
  /** The bot's id. */
  readonly sub: string;
  readonly host: string;
  readonly method: string;
  readonly path: string;
  readonly query: string | null;
  readonly action: string;
  readonly status: number;
  readonly mode: string | null;
  readonly enforced: boolean;
  readonly rule_id: string;
  readonly verified: boolean;
  readonly verification: string;
  readonly price: ReceiptPrice | null;
  readonly policy_hash: string | null;
  /** SHA-256 (hex) of the whole event: `eventDigest`. */
  readonly event_digest: string;
}

/** The claims of the receipt for an event, which must be as it is stored. */
export function receiptClaims(event: DecisionEvent): ReceiptClaims {
  return {
    iss: event.site_id,
    iat: Math.floor(Date.parse(event.ts) / 1000),
    jti: event.id,
    sub: event.bot_id,
    host: event.host,
    method: event.method,
    path: event.path,
    query: event.query,
    action: event.action,
    status: event.status,
    mode: event.mode,
    enforced: event.enforced,
    rule_id: event.rule_id,
    verified: event.verified,
    verification: event.verification,
    price: priceOf(event),
    policy_hash: event.policy_hash,
    event_digest: eventDigest({ ...event }),
  };
}

function priceOf(event: DecisionEvent): ReceiptPrice | null {
  const { price_amount: amount, price_currency: currency, price_unit: unit } = event;
  return amount === null || currency === null || unit === null ? null : { amount, currency, unit };
}

/** Members of a stored event that a receipt does not cover: itself, the time taken, the chain's. */
const UNCOVERED: ReadonlySet<string> = new Set([
  "receipt",
  "receipt_id",
  "duration_us",
  "writer_id",
  "seq",
  "prev_hash",
  "hash",
  "hash_version",
]);

/**
 * SHA-256 (hex) of the RFC 8785 form of an event as it is stored, without receipt, receipt_id,
 * duration_us and the chain's columns. A member that no event has is covered too.
 */
export function eventDigest(event: Readonly<Record<string, unknown>>): string {
  const covered = Object.entries(event).filter(([name]) => !UNCOVERED.has(name));
  return createHash("sha256")
    .update(canonicalJson(Object.fromEntries(covered)))
    .digest("hex");
}
