import type { DecisionEvent } from "../../core/event.ts";
import { cleanEvent } from "../../core/ledger/clean.ts";
import type { Policy } from "../../core/policy/policy.ts";
import { receiptClaims } from "../../core/receipt.ts";
import { signReceipt } from "./jws.ts";
import type { ReceiptKey } from "./keys.ts";

/** Gives events their receipts. */
export interface Sealer {
  /** Never rejects: where signing fails the event comes back without a receipt, counted. */
  seal(event: DecisionEvent, policy: Policy): Promise<DecisionEvent>;
  counters(): SealCounters;
  /** Resolves when every event is sealed and handed back. */
  settled(): Promise<void>;
}

export interface SealCounters {
  readonly signed: number;
  /** Events that should have a receipt and have none. */
  readonly failed: number;
}

export interface SealerOptions {
  readonly keyOf: (policy: Policy) => ReceiptKey | undefined;
  /** What the ledger keeps of an event: a receipt says no more. */
  readonly protect: (event: DecisionEvent, policy: Policy) => DecisionEvent;
  readonly onError: (error: unknown) => void;
}

/** Events that may wait for their signature: refusals are signed behind the answer. */
const MOST_PENDING = 8192;

/** Makes the sealer. */
export function createSealer(options: SealerOptions): Sealer {
  const { keyOf, protect, onError } = options;
  let pending = 0;
  let signed = 0;
  let failed = 0;
  let waiting: (() => void)[] = [];
  const sign = async (event: DecisionEvent, policy: Policy): Promise<DecisionEvent> => {
    const key = keyOf(policy);
    if (key === undefined) throw new Error(`site ${policy.site.id} has no key for receipts`);
    if (pending > MOST_PENDING) throw new Error("too many events wait for their receipts");
    const stored = cleanEvent(protect(event, policy));
    const receipt = await signReceipt(receiptClaims(stored), key);
    return { ...event, receipt_id: event.id, receipt };
  };
  const finish = (): void => {
    pending -= 1;
    if (pending > 0) return;
    for (const resolve of waiting) resolve();
    waiting = [];
  };
  return {
    seal: async (event, policy) => {
      pending += 1;
      try {
        const sealed = await sign(event, policy);
        signed += 1;
        return sealed;
      } catch (error) {
        failed += 1;
        onError(error);
        return event;
      } finally {
        finish();
      }
    },
    counters: () => ({ signed, failed }),
    settled: async () => {
      if (pending > 0) await new Promise<void>((resolve) => waiting.push(resolve));
      // Whoever waits for a sealed event gets it before this resolves.
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
