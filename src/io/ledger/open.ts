import { UnavailableError } from "./database.ts";
import type { Ledger, LedgerLog, LedgerReader } from "./ledger.ts";
import { describeLocation, parseLedgerUrl } from "./location.ts";
import { createQueue, DEFAULT_QUEUE_LIMITS, type EventQueue, type QueueLimits } from "./queue.ts";
import { vacuumLedger } from "./retention.ts";
import { readInstance } from "./secrets.ts";
import { readSigningKey } from "./signer.ts";
import type { StoreMode } from "./store.ts";
import { createStoreThread, type StoreThread } from "./thread.ts";

export interface LedgerOptions {
  /** Holds the ledger's file, name and key. */
  readonly dataDir: string;
  readonly log: LedgerLog;
  readonly queue?: Partial<QueueLimits>;
  /** How long closing may take, at most. */
  readonly closeMs?: number;
  /** How often chains are signed and old events removed. */
  readonly upkeepMs?: number;
}

const CLOSE_MS = 5000;
const UPKEEP_MS = 3_600_000;

/** How long events of a site are kept that no policy speaks for (contract 4, `ledger.retention`). */
const DEFAULT_RETENTION_MS = 90 * 86_400_000;

/**
 * Opens the ledger that `--ledger` names, to write and to ask, bringing its schema forward; undefined
 * for `off`. Rejects with `RefusedError` for a ledger that will not do. A server that does not answer
 * yet is tried again until it does, while events wait in the queue.
 */
export async function openLedger(url: string, options: LedgerOptions): Promise<Ledger | undefined> {
  const location = parseLedgerUrl(url, options.dataDir);
  if (location === undefined) return undefined;
  const instance = readInstance(options.dataDir);
  const signingKey = readSigningKey(options.dataDir);
  const writer = createStoreThread({ location, mode: "create", instance, signingKey });
  const reader = createStoreThread({ location, mode: "read", instance, signingKey: undefined });
  const isOpen = await tryOpen(writer, options.log, describeLocation(location));
  return ledgerOf(writer, reader, options, isOpen);
}

/**
 * Opens a ledger that exists, to ask it (`read`) or also to remove what is old (`change`). Rejects with
 * `RefusedError` where there is none.
 */
export async function openLedgerReader(
  url: string,
  dataDir: string,
  mode: Exclude<StoreMode, "create">,
): Promise<LedgerReader | undefined> {
  const location = parseLedgerUrl(url, dataDir);
  if (location === undefined) return undefined;
  const isChange = mode === "change";
  const thread = createStoreThread({
    location,
    mode,
    instance: isChange ? readInstance(dataDir) : "",
    signingKey: isChange ? readSigningKey(dataDir) : undefined,
  });
  try {
    await thread.query("open", undefined);
  } catch (error) {
    await thread.close(0);
    throw error;
  }
  return { query: thread.query, close: () => thread.close(CLOSE_MS) };
}

async function tryOpen(writer: StoreThread, log: LedgerLog, name: string): Promise<boolean> {
  try {
    await writer.query("open", undefined);
    log("info", { ledger: name }, "the ledger is open");
    return true;
  } catch (error) {
    if (error instanceof UnavailableError) {
      log("error", { ledger: name, cause: error.message }, "the ledger cannot be opened yet");
      return false;
    }
    await writer.close(0);
    throw error;
  }
}

function ledgerOf(
  writer: StoreThread,
  reader: StoreThread,
  options: LedgerOptions,
  isOpenAtFirst: boolean,
): Ledger {
  const { log, closeMs = CLOSE_MS } = options;
  const queue = queueFor(writer, options);
  const retention = new Map<string, number>();
  const upkeep = startUpkeep(writer, retention, options);
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    clearInterval(upkeep);
    await queue.close(closeMs);
    await Promise.race([writer.query("sign", undefined), afterMs(closeMs)]).catch(() => undefined);
    await Promise.all([writer.close(closeMs), reader.close(closeMs)]);
  };
  return {
    record: queue.push,
    flush: queue.flush,
    counters: queue.counters,
    isOpen: () => isOpenAtFirst || queue.counters().written > 0,
    query: reader.query,
    keepAudit: async (audit) => {
      await writer.query("keepAudit", audit);
    },
    close: () => {
      closing ??= close();
      return closing;
    },
    adopt: (policies, retentionMs) => {
      retention.clear();
      for (const [siteId, ms] of retentionMs) retention.set(siteId, ms);
      writer.query("keepPolicies", policies).catch((error: unknown) => {
        log("error", { cause: String(error) }, "the ledger does not keep the policies");
      });
    },
  };
}

function queueFor(writer: StoreThread, { log, queue }: LedgerOptions): EventQueue {
  return createQueue(
    {
      append: (rows, retried) => writer.query("append", { rows, retried }),
      noteGap: async (dropped, rejected) => {
        await writer.query("noteGap", { dropped, rejected });
      },
      log,
    },
    { ...DEFAULT_QUEUE_LIMITS, ...queue },
  );
}

/** Signs the chains and removes old events, now and then, until the interval is cleared. */
function startUpkeep(
  writer: StoreThread,
  retention: ReadonlyMap<string, number>,
  { log, upkeepMs = UPKEEP_MS }: LedgerOptions,
): NodeJS.Timeout {
  const run = async (): Promise<void> => {
    await writer.query("sign", undefined);
    const ageOf = (siteId: string | null): number =>
      retention.get(siteId ?? "") ?? DEFAULT_RETENTION_MS;
    const removed = await vacuumLedger(writer.query, { ageOf, nowMs: Date.now() });
    if (removed > 0) log("info", { removed }, "old events were removed from the ledger");
  };
  return setInterval(() => {
    run().catch((error: unknown) => {
      log("warn", { cause: String(error) }, "the ledger's upkeep waits for its next turn");
    });
  }, upkeepMs).unref();
}

function afterMs(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
