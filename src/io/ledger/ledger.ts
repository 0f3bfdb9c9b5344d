import type { KeptAudit } from "../../core/audit/stored.ts";
import type { DecisionEvent } from "../../core/event.ts";
import type { StoreReplies, StoreRequests } from "./store.ts";

/** Writes one line of the service log. */
export type LedgerLog = (
  level: "info" | "warn" | "error",
  fields: Readonly<Record<string, unknown>>,
  message: string,
) => void;

/** What became of the events since the start; `errors` counts failed writes, not events. */
export interface LedgerCounters {
  readonly queued: number;
  readonly queuedBytes: number;
  readonly written: number;
  /** Lost to a full queue or to the end of the process. */
  readonly dropped: number;
  /** Could not be stored: a fault of ours, or of the database's settings. */
  readonly rejected: number;
  readonly errors: number;
}

/** A policy as it decided, kept so that its decisions can be explained later. */
export interface KeptPolicy {
  readonly hash: string;
  readonly siteId: string;
  /** What was compiled, as text. */
  readonly document: string;
}

/** Asks a ledger; rejects with `UnavailableError` while it cannot be reached. */
export type LedgerQuery = <M extends keyof StoreRequests>(
  method: M,
  request: StoreRequests[M],
) => Promise<StoreReplies[M]>;

/** Answers about what a ledger holds, and the work of keeping it. */
export interface LedgerReader {
  readonly query: LedgerQuery;
  close(): Promise<void>;
}

/** Keeps every event in a chain that shows edits, without ever delaying or failing a request. */
export interface Ledger {
  /** Queues an event. Never throws, never waits; beyond the bounds the oldest are dropped, counted. */
  record(event: DecisionEvent): void;
  /** Resolves when all that was recorded before is written, or counted as lost. */
  flush(): Promise<void>;
  /** Writes what is queued, signs the chains, and closes; never rejects. A second call waits with the first. */
  close(): Promise<void>;
  counters(): LedgerCounters;
  /** Whether the database was reached yet: part of being ready. */
  isOpen(): boolean;
  /** Keeps the policies that decide from now on, and how long each site's events are kept. */
  adopt(policies: readonly KeptPolicy[], retentionMs: ReadonlyMap<string, number>): void;
  /** Keeps the audit of one host; rejects with `UnavailableError` where that is not possible now. */
  keepAudit(audit: KeptAudit): Promise<void>;
  /** Asks on a connection of its own, so that a long report delays no write. */
  readonly query: LedgerQuery;
}
