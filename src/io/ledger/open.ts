import { UnavailableError } from "./database.ts";
import type { Ledger, LedgerLog } from "./ledger.ts";
import { describeLocation, parseLedgerUrl } from "./location.ts";
import { createQueue, DEFAULT_QUEUE_LIMITS, type QueueLimits } from "./queue.ts";
import { readInstance } from "./secrets.ts";
import { createStoreThread, type StoreThread } from "./thread.ts";

export interface LedgerOptions {
  /** Holds the ledger's file, name and key. */
  readonly dataDir: string;
  readonly log: LedgerLog;
  readonly queue?: Partial<QueueLimits>;
  /** How long closing may take, at most. */
  readonly closeMs?: number;
}

const CLOSE_MS = 5000;

/**
 * Opens the ledger that `--ledger` names, bringing its schema forward; undefined for `off`. Rejects
 * with `RefusedError` for a ledger that will not do. A server that does not answer yet is tried again
 * until it does, while events wait in the queue.
 */
export async function openLedger(url: string, options: LedgerOptions): Promise<Ledger | undefined> {
  const location = parseLedgerUrl(url, options.dataDir);
  if (location === undefined) return undefined;
  const instance = readInstance(options.dataDir);
  const writer = createStoreThread({ location, mode: "create", instance });
  const reader = createStoreThread({ location, mode: "read", instance });
  const name = describeLocation(location);
  const isOpen = await tryOpen(writer, options.log, name);
  if (isOpen) options.log("info", { ledger: name }, "the ledger is open");
  return ledgerOf(writer, reader, options, isOpen);
}

async function tryOpen(writer: StoreThread, log: LedgerLog, name: string): Promise<boolean> {
  try {
    await writer.query("open", undefined);
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
  const closeMs = options.closeMs ?? CLOSE_MS;
  let closing: Promise<void> | undefined;
  const queue = createQueue(
    {
      append: (rows, retried) => writer.query("append", { rows, retried }),
      noteGap: async (dropped, rejected) => {
        await writer.query("noteGap", { dropped, rejected });
      },
      log: options.log,
    },
    { ...DEFAULT_QUEUE_LIMITS, ...options.queue },
  );
  const close = async (): Promise<void> => {
    await queue.close(closeMs);
    await Promise.all([writer.close(closeMs), reader.close(closeMs)]);
  };
  return {
    record: queue.push,
    flush: queue.flush,
    counters: queue.counters,
    isOpen: () => isOpenAtFirst || queue.counters().written > 0,
    query: reader.query,
    close: () => {
      closing ??= close();
      return closing;
    },
    adopt: () => undefined,
  };
}
