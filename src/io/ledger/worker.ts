import { parentPort, workerData } from "node:worker_threads";
import { messageOf, RefusedError, UnavailableError } from "./database.ts";
import {
  type LedgerStore,
  openStore,
  type StoreOptions,
  type StoreReplies,
  type StoreRequests,
} from "./store.ts";

/** One request to the thread that owns a ledger. */
export interface WorkerCall<M extends keyof StoreRequests = keyof StoreRequests> {
  readonly call: number;
  readonly method: M;
  readonly request: StoreRequests[M];
}

/** Its answer; `unavailable` is worth another try, the others are not. */
export type WorkerAnswer =
  | { readonly call: number; readonly kind: "done"; readonly value: unknown }
  | {
      readonly call: number;
      readonly kind: "unavailable" | "refused" | "fault";
      readonly message: string;
    };

const options: StoreOptions = workerData;
let store: LedgerStore | undefined;
let tail: Promise<void> = Promise.resolve();

// One at a time: a transaction has the connection for itself.
parentPort?.on("message", (call: WorkerCall) => {
  tail = tail.then(async () => parentPort?.postMessage(await answer(call)));
});

async function answer(call: WorkerCall): Promise<WorkerAnswer> {
  try {
    store ??= await openStore(options);
    return { call: call.call, kind: "done", value: await dispatch(store, call) };
  } catch (error) {
    return { call: call.call, kind: kindOf(error), message: messageOf(error) };
  }
}

function dispatch<M extends keyof StoreRequests>(
  handlers: LedgerStore,
  { method, request }: WorkerCall<M>,
): Promise<StoreReplies[M]> {
  return handlers[method](request);
}

function kindOf(error: unknown): "unavailable" | "refused" | "fault" {
  if (error instanceof UnavailableError) return "unavailable";
  return error instanceof RefusedError ? "refused" : "fault";
}
