import { Worker } from "node:worker_threads";
import { RefusedError, UnavailableError } from "./database.ts";
import type { LedgerQuery } from "./ledger.ts";
import type { StoreOptions } from "./store.ts";
import type { WorkerAnswer, WorkerCall } from "./worker.ts";

/** A ledger's store in a thread of its own, started when it is first asked. */
export interface StoreThread {
  readonly query: LedgerQuery;
  /** Closes the store and ends the thread, after `deadlineMs` at the latest. Never rejects. */
  close(deadlineMs: number): Promise<void>;
}

/** Waits for one answer. A method, so that each may want an answer of its own type. */
interface Waiter {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

interface ThreadState {
  readonly options: StoreOptions;
  readonly waiters: Map<number, Waiter>;
  worker: Worker | undefined;
  calls: number;
}

/** Makes the thread's handle. A thread that dies fails its requests, and the next starts another. */
export function createStoreThread(options: StoreOptions): StoreThread {
  const state: ThreadState = { options, waiters: new Map(), worker: undefined, calls: 0 };
  const query: LedgerQuery = (method, request) =>
    new Promise((resolve, reject) => {
      const call: WorkerCall = { call: state.calls++, method, request };
      state.waiters.set(call.call, { resolve, reject });
      state.worker ??= startWorker(state);
      state.worker.postMessage(call);
    });
  return { query, close: (deadlineMs) => closeThread(state, query, deadlineMs) };
}

/** The same file as TypeScript in a checkout and as JavaScript in a package. */
const WORKER_FILE = import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js";

function startWorker(state: ThreadState): Worker {
  const worker = new Worker(new URL(WORKER_FILE, import.meta.url), {
    workerData: state.options,
    // Node 24 still warns of its own `node:sqlite`.
    execArgv: ["--disable-warning=ExperimentalWarning"],
  });
  worker.on("message", (answer: WorkerAnswer) => settle(state, answer));
  worker.on("error", (error: Error) => failAll(state, worker, error.message));
  worker.on("exit", () => failAll(state, worker, "the ledger's thread ended"));
  return worker;
}

function settle(state: ThreadState, answer: WorkerAnswer): void {
  const waiter = state.waiters.get(answer.call);
  state.waiters.delete(answer.call);
  switch (answer.kind) {
    case "done":
      waiter?.resolve(answer.value);
      break;
    case "unavailable":
      waiter?.reject(new UnavailableError(answer.message));
      break;
    case "refused":
      waiter?.reject(new RefusedError(answer.message));
      break;
    case "fault":
      waiter?.reject(new Error(answer.message));
      break;
  }
}

function failAll(state: ThreadState, worker: Worker, message: string): void {
  if (state.worker !== worker) return;
  state.worker = undefined;
  for (const waiter of state.waiters.values()) waiter.reject(new UnavailableError(message));
  state.waiters.clear();
}

async function closeThread(
  state: ThreadState,
  query: LedgerQuery,
  deadlineMs: number,
): Promise<void> {
  const { worker } = state;
  if (worker === undefined) return;
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, deadlineMs);
  });
  // A store that cannot be closed now is given up with its thread.
  const closed = query("close", undefined).catch(() => undefined);
  await Promise.race([closed, deadline]);
  clearTimeout(timer);
  await worker.terminate();
}
