import type { AppendResult } from "./append.ts";
import type { LedgerLog } from "./ledger.ts";

/** How much a queue holds, and when it writes. */
export interface QueueLimits {
  readonly maxEvents: number;
  /** As events take up memory, roughly. */
  readonly maxBytes: number;
  /** Events that are written at once, more only where very many wait. */
  readonly batchEvents: number;
  /** How long an event waits for others, at most. */
  readonly batchMs: number;
}

export const DEFAULT_QUEUE_LIMITS: QueueLimits = {
  maxEvents: 65_536,
  maxBytes: 64 * 1024 * 1024,
  batchEvents: 512,
  batchMs: 100,
};

/** What a queue needs of the database. */
export interface QueuePorts {
  /** Writes one batch, a JSON list of rows; rejects when it cannot be written now. */
  readonly append: (rows: string, retried: boolean) => Promise<AppendResult>;
  /** Tells the ledger what it lacks; rejects when it cannot be told now. */
  readonly noteGap: (dropped: number, rejected: number) => Promise<void>;
  readonly log: LedgerLog;
}
