import { messageOf } from "./database.ts";
import type { KeptPolicy, LedgerLog, LedgerQuery } from "./ledger.ts";
import { vacuumLedger } from "./retention.ts";

/** What is done for a ledger besides writing events. */
export interface Upkeep {
  /** Keeps policies by their hash, and takes how long each site's events are kept. */
  adopt(policies: readonly KeptPolicy[], retentionMs: ReadonlyMap<string, number>): void;
  /** Signs the chains; never rejects. */
  sign(): Promise<void>;
  stop(): void;
}

/** Soon after the start, so that a process that never lives long keeps its retention, too. */
const FIRST_MS = 60_000;
const EVERY_MS = 3_600_000;

/** Between two tries to keep the policies. */
const RETRY_MS = 5000;

/** How long events of a site are kept that no policy speaks for (contract 4, `ledger.retention`). */
const DEFAULT_RETENTION_MS = 90 * 86_400_000;

interface UpkeepState {
  readonly query: LedgerQuery;
  readonly log: LedgerLog;
  retentionMs: ReadonlyMap<string, number>;
  /** Policies that the ledger does not hold yet, as far as is known. */
  unkept: readonly KeptPolicy[];
  turn: NodeJS.Timeout | undefined;
  retry: NodeJS.Timeout | undefined;
  isStopped: boolean;
}

/** Signs the chains and removes old events every hour, until it is stopped. */
export function startUpkeep(query: LedgerQuery, log: LedgerLog): Upkeep {
  const state: UpkeepState = {
    query,
    log,
    retentionMs: new Map(),
    unkept: [],
    turn: undefined,
    retry: undefined,
    isStopped: false,
  };
  schedule(state, FIRST_MS);
  return {
    adopt: (policies, retentionMs) => {
      state.retentionMs = retentionMs;
      state.unkept = policies;
      clearTimeout(state.retry);
      keepPolicies(state);
    },
    sign: () => query("sign", undefined).catch(() => undefined),
    stop: () => {
      state.isStopped = true;
      clearTimeout(state.turn);
      clearTimeout(state.retry);
    },
  };
}

function schedule(state: UpkeepState, delayMs: number): void {
  state.turn = setTimeout(() => {
    takeTurn(state)
      .catch((error: unknown) => {
        const cause = messageOf(error);
        state.log("warn", { cause }, "the ledger's upkeep waits for its next turn");
      })
      .finally(() => {
        if (!state.isStopped) schedule(state, EVERY_MS);
      });
  }, delayMs).unref();
}

async function takeTurn({ query, log, retentionMs }: UpkeepState): Promise<void> {
  await query("sign", undefined);
  const ageOf = (siteId: string | null): number =>
    retentionMs.get(siteId ?? "") ?? DEFAULT_RETENTION_MS;
  // Audits belong to hosts, not to sites: they stay as long as the events of any site.
  const auditAge = Math.max(
    ...(retentionMs.size > 0 ? retentionMs.values() : [DEFAULT_RETENTION_MS]),
  );
  const removed = await vacuumLedger(query, { ageOf, auditAge, nowMs: Date.now() });
  if (removed.events > 0) {
    log("info", { removed: removed.events }, "old events were removed from the ledger");
  }
  if (removed.audits > 0) {
    log("info", { removed: removed.audits }, "old audits were removed from the ledger");
  }
}

function keepPolicies(state: UpkeepState): void {
  const policies = state.unkept;
  state.query("keepPolicies", policies).catch((error: unknown) => {
    // A later set takes care of itself.
    if (state.unkept !== policies || state.isStopped) return;
    state.log("warn", { cause: messageOf(error) }, "the ledger cannot keep the policies yet");
    state.retry = setTimeout(() => keepPolicies(state), RETRY_MS).unref();
  });
}
