import { canonicalJson } from "./canonical-json.ts";
import { eventDigest } from "./receipt.ts";

/** A JSON object that somebody handed in: nothing about it is known yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A receipt as it was read, and what its signature is worth. */
export type ReadReceipt =
  /** No JWS of ours at all. */
  | { readonly kind: "malformed"; readonly cause: string }
  | { readonly kind: "unknown_key"; readonly keyId: string; readonly claims: JsonObject }
  | { readonly kind: "bad_signature"; readonly claims: JsonObject }
  | { readonly kind: "signed"; readonly claims: JsonObject };

/** What is wrong with a receipt, or with the event that it should prove. */
export interface ReceiptFault {
  readonly kind:
    | "malformed"
    | "unknown_key"
    | "bad_signature"
    | "foreign"
    | "duplicate"
    | "edited"
    | "stripped";
  /** For people, with the names of what differs. */
  readonly message: string;
}

/** Claims that repeat a column of the event. */
const REPEATED: readonly (readonly [claim: string, column: string])[] = [
  ["iss", "site_id"],
  ["sub", "bot_id"],
  ["host", "host"],
  ["method", "method"],
  ["path", "path"],
  ["query", "query"],
  ["action", "action"],
  ["status", "status"],
  ["mode", "mode"],
  ["enforced", "enforced"],
  ["rule_id", "rule_id"],
  ["verified", "verified"],
  ["verification", "verification"],
  ["policy_hash", "policy_hash"],
];

const PRICE: readonly (readonly [member: string, column: string])[] = [
  ["amount", "price_amount"],
  ["currency", "price_currency"],
  ["unit", "price_unit"],
];

/**
 * Whether an event has the receipt that it should have: a stripped one leaves its id behind, or a
 * metered request without proof.
 */
export function findStripped(event: JsonObject): ReceiptFault | undefined {
  if (typeof event.receipt === "string") return undefined;
  if (typeof event.receipt_id === "string") {
    return fault("stripped", `the event names receipt ${event.receipt_id} and has none`);
  }
  if (event.action !== "allow_metered") return undefined;
  return fault("stripped", "the event is metered and has no receipt");
}

/**
 * Holds a receipt to its signature, to its event where there is one, and to those seen before it:
 * the first thing that is wrong, or undefined. `seen` are the ids of earlier receipts.
 */
export function checkReceipt(
  read: ReadReceipt,
  event: JsonObject | undefined,
  seen: ReadonlySet<string>,
): ReceiptFault | undefined {
  switch (read.kind) {
    case "malformed":
      return fault("malformed", read.cause);
    case "unknown_key":
      return fault("unknown_key", `signed by key ${read.keyId}, which was not given`);
    case "bad_signature":
      return fault("bad_signature", `the receipt was edited${differing(read.claims, event)}`);
    case "signed":
      return checkClaims(read.claims, event, seen);
  }
}

function checkClaims(
  claims: JsonObject,
  event: JsonObject | undefined,
  seen: ReadonlySet<string>,
): ReceiptFault | undefined {
  const { jti } = claims;
  if (typeof jti !== "string") return fault("malformed", "the receipt has no `jti`");
  if (event !== undefined && (event.id !== jti || event.receipt_id !== jti)) {
    return fault("foreign", `the receipt is that of event ${jti}`);
  }
  if (seen.has(jti)) return fault("duplicate", `receipt ${jti} came before`);
  if (event === undefined || claims.event_digest === eventDigest(event)) return undefined;
  return fault("edited", `the event was edited${differing(claims, event)}`);
}

/** The columns in which a receipt and its event differ, as far as claims can show it. */
function differing(claims: JsonObject, event: JsonObject | undefined): string {
  if (event === undefined) return "";
  const columns = differingColumns(claims, event).map((column) => `\`${column}\``);
  return columns.length === 0
    ? " in a column that no claim repeats"
    : `: ${columns.join(", ")} ${columns.length === 1 ? "differs" : "differ"}`;
}

function differingColumns(claims: JsonObject, event: JsonObject): readonly string[] {
  const price = isObject(claims.price) ? claims.price : {};
  return [
    ...(event.id === claims.jti ? [] : ["id"]),
    ...(secondsOf(event.ts) === claims.iat ? [] : ["ts"]),
    ...REPEATED.filter(([claim, column]) => !isEqual(claims[claim], event[column])).map(last),
    ...PRICE.filter(([member, column]) => !isEqual(price[member], event[column])).map(last),
  ];
}

function last(pair: readonly [string, string]): string {
  return pair[1];
}

function secondsOf(ts: unknown): number {
  return typeof ts === "string" ? Math.floor(Date.parse(ts) / 1000) : Number.NaN;
}

function isEqual(left: unknown, right: unknown): boolean {
  return canonicalJson(left ?? null) === canonicalJson(right ?? null);
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fault(kind: ReceiptFault["kind"], message: string): ReceiptFault {
  return { kind, message };
}
