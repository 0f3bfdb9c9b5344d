import { messageOf, RefusedError, UnavailableError } from "./database.ts";
import type { KeptPolicy, Ledger, LedgerLog, LedgerReader } from "./ledger.ts";
import { describeLocation, parseLedgerUrl } from "./location.ts";
import { createQueue, type EventQueue } from "./queue.ts";
import { DEFAULT_QUEUE_LIMITS, type QueueLimits } from "./queue-options.ts";
import { readInstance } from "./secrets.ts";
import { readSigningKey } from "./signer.ts";
import type { StoreMode } from "./store.ts";
import { createStoreThread, type StoreThread } from "./thread.ts";
import { startUpkeep } from "./upkeep.ts";

export interface LedgerOptions {
  /** Holds the ledger's file, name and key. */
  readonly dataDir: string;
  readonly log: LedgerLog;
  readonly queue?: Partial<QueueLimits>;
  /** How long closing waits for a database that takes nothing. */
  readonly closeMs?: number;
}

const CLOSE_MS = 5000;

/** How long signing the chains, and then closing, may take at the end. */
const SIGN_MS = 1000;

/** Between two tries to reach a database that was not there at the start. */
const REOPEN_MS = 2000;

/**
 * Opens the ledger that `--ledger` names, to write and to ask, bringing its schema forward; undefined
 * for `off`. Rejects with `RefusedError` for a ledger that will not do. A server that does not answer
 * yet is tried again until it does, while events wait in the queue.
 */
export async function openLedger(url: string, options: LedgerOptions): Promise<Ledger | undefined> {
  const location = parseLedgerUrl(url, options.dataDir);
  if (location === undefined) return undefined;
  const { instance, signingKey } = readIdentity(options.dataDir);
  const writer = createStoreThread({ location, mode: "create", instance, signingKey });
  const reader = createStoreThread({ location, mode: "read", instance, signingKey: undefined });
  const opening = await openSoon(writer, options.log, describeLocation(location));
  return ledgerOf(writer, reader, options, opening);
}

/**
 * Opens a ledger that exists, to ask it (`read`) or also to remove what is old (`change`); undefined for
 * `off`. Rejects with `RefusedError` where there is none.
 */
export async function openLedgerReader(
  url: string,
  dataDir: string,
  mode: Exclude<StoreMode, "create">,
): Promise<LedgerReader | undefined> {
  const location = parseLedgerUrl(url, dataDir);
  if (location === undefined) return undefined;
  const identity =
    mode === "change" ? readIdentity(dataDir) : { instance: "", signingKey: undefined };
  const thread = createStoreThread({ location, mode, ...identity });
  try {
    await thread.query("open", undefined);
  } catch (error) {
    await thread.close(0);
    throw error;
  }
  return { query: thread.query, close: () => thread.close(CLOSE_MS) };
}

interface Identity {
  readonly instance: string;
  readonly signingKey: string;
}

function readIdentity(dataDir: string): Identity {
  try {
    return { instance: readInstance(dataDir), signingKey: readSigningKey(dataDir) };
  } catch (error) {
    const message = `the ledger's name and key cannot be kept in \`${dataDir}\`: ${messageOf(error)}`;
    throw new RefusedError(message, { cause: error });
  }
}

/** Whether the database was reached yet, and the end of trying. */
interface Opening {
  isOpen: boolean;
  timer: NodeJS.Timeout | undefined;
}

async function openSoon(writer: StoreThread, log: LedgerLog, ledger: string): Promise<Opening> {
  const opening: Opening = { isOpen: false, timer: undefined };
  const attempt = async (): Promise<void> => {
    await writer.query("open", undefined);
    opening.isOpen = true;
    log("info", { ledger }, "the ledger is open");
  };
  const again = (): void => {
    opening.timer = setTimeout(() => attempt().catch(again), REOPEN_MS).unref();
  };
  try {
    await attempt();
  } catch (error) {
    if (!(error instanceof UnavailableError)) {
      await writer.close(0);
      throw error;
    }
    log("error", { ledger, cause: error.message }, "the ledger cannot be opened yet");
    again();
  }
  return opening;
}

function ledgerOf(
  writer: StoreThread,
  reader: StoreThread,
  options: LedgerOptions,
  opening: Opening,
): Ledger {
  const { closeMs = CLOSE_MS } = options;
  const queue = queueFor(writer, options);
  const upkeep = startUpkeep(writer.query, options.log);
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    clearTimeout(opening.timer);
    upkeep.stop();
    await queue.close(closeMs);
    await Promise.race([upkeep.sign(), afterMs(SIGN_MS)]);
    await Promise.all([writer.close(SIGN_MS), reader.close(SIGN_MS)]);
  };
  return {
    record: queue.push,
    flush: queue.flush,
    counters: queue.counters,
    isOpen: () => opening.isOpen,
    query: reader.query,
    keepAudit: async (audit) => {
      await writer.query("keepAudit", audit);
    },
    close: () => {
      closing ??= close();
      return closing;
    },
    adopt: (policies: readonly KeptPolicy[], retentionMs) => upkeep.adopt(policies, retentionMs),
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

function afterMs(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
