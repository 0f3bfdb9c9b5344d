import { Worker } from "node:worker_threads";
import type { CrawlDelayRecord } from "../core/audit/record.ts";
import type { JudgeCall, JudgeReply } from "./judge-worker.ts";
import { type JudgeHost, judgeHost, outcomeOf } from "./run.ts";

/** Judges beside the traffic. */
export interface JudgeThread {
  readonly judge: JudgeHost;
  /** Ends the thread; the next large file starts another. */
  end(): void;
}

/** Bytes of a file that is judged at once: it takes a few milliseconds, less than a thread's start. */
const AT_ONCE_BYTES = 16_384;

/** Judges large files in a thread of its own, so that no request waits while one is read. */
export function createJudgeThread(): JudgeThread {
  const state: ThreadState = { worker: undefined, waiters: new Map(), calls: 0 };
  return {
    judge: async (target, fetched, nowMs) => {
      if (fetched.kind === "failure" || fetched.body.length <= AT_ONCE_BYTES) {
        return judgeHost(target, fetched, nowMs);
      }
      const records = await ask(state, { call: state.calls++, target, fetched, nowMs });
      // A thread that died is no verdict on the host.
      if (records === undefined) return judgeHost(target, fetched, nowMs);
      return outcomeOf(target, fetched, records);
    },
    end: () => {
      const { worker } = state;
      state.worker = undefined;
      void worker?.terminate();
    },
  };
}

type Records = readonly CrawlDelayRecord[] | undefined;

interface ThreadState {
  worker: Worker | undefined;
  readonly waiters: Map<number, (records: Records) => void>;
  calls: number;
}

function ask(state: ThreadState, call: JudgeCall): Promise<Records> {
  return new Promise((resolve) => {
    state.waiters.set(call.call, resolve);
    state.worker ??= startWorker(state);
    state.worker.postMessage(call);
  });
}

/** The same file as TypeScript in a checkout and as JavaScript in a package. */
const WORKER_FILE = import.meta.url.endsWith(".ts") ? "./judge-worker.ts" : "./judge-worker.js";

function startWorker(state: ThreadState): Worker {
  const worker = new Worker(new URL(WORKER_FILE, import.meta.url));
  const giveUp = (): void => {
    if (state.worker === worker) state.worker = undefined;
    for (const resolve of state.waiters.values()) resolve(undefined);
    state.waiters.clear();
  };
  worker.on("message", ({ call, records }: JudgeReply) => {
    state.waiters.get(call)?.(records);
    state.waiters.delete(call);
  });
  worker.on("error", giveUp);
  worker.on("exit", giveUp);
  return worker;
}
