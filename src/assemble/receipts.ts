import type { Logger } from "pino";
import type { DecisionEvent } from "../core/event.ts";
import type { Policy } from "../core/policy/policy.ts";
import type { Metrics } from "../io/metrics.ts";
import { loadReceiptKeys, type ReceiptKeys } from "../io/receipts/keys.ts";
import { createSealer, type Sealer } from "../io/receipts/sealer.ts";
import { StartError } from "./start-error.ts";

/** The keys in force, and what they sign. */
export interface Receipts extends Pick<Sealer, "seal" | "settled"> {
  /**
   * Takes the keys of the policies that decide from now on. Throws a `StartError` that names every
   * key that cannot be had, and then keeps those it has.
   */
  adopt(policies: readonly Policy[]): void;
  /** Public keys, as `/.well-known/crawlwall/jwks.json` answers. */
  readonly jwks: () => string;
}

/** A key that does not sign fails for every request: the log tells it once a minute. */
const REPEAT_MS = 60_000;

/** Makes the signer of receipts, without keys yet. */
export function createReceipts(
  dataDir: string,
  protect: (event: DecisionEvent, policy: Policy) => DecisionEvent,
  metrics: Metrics,
  log: Logger,
): Receipts {
  let keys: ReceiptKeys = { keyOf: () => undefined, jwks: '{"keys":[]}' };
  let toldAt = Number.NEGATIVE_INFINITY;
  const onError = (error: unknown): void => {
    const now = performance.now();
    if (now - toldAt < REPEAT_MS) return;
    toldAt = now;
    log.error({ err: error }, "an event has no receipt: it cannot be signed");
  };
  const { seal, settled, counters } = createSealer({
    keyOf: (policy) => keys.keyOf(policy),
    protect,
    onError,
  });
  const { gauge } = metrics;
  gauge("crawlwall_receipts_signed", "Receipts made", () => counters().signed);
  gauge("crawlwall_receipts_failed", "Events left without their receipt", () => counters().failed);
  return {
    adopt: (policies) => {
      const loaded = loadReceiptKeys(policies, dataDir);
      if (loaded.kind === "faulty") throw new StartError(loaded.faults);
      keys = loaded.keys;
    },
    seal,
    settled,
    jwks: () => keys.jwks,
  };
}
