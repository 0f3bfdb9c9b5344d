import { setImmediate } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { type PolicyParts, policySteps } from "../core/policy/create-policy.ts";
import type { Policy, Rule } from "../core/policy/policy.ts";
import { reachableVerifications } from "../core/policy/rule-list.ts";
import type { SiteFiles } from "../core/robots/site-files.ts";
import type { Steps } from "../core/steps.ts";
import type { LoadedPolicy } from "./loaded.ts";
import type { LoadPart, LoadRequest } from "./parts.ts";
import { inSlices } from "./slices.ts";

/** A set of policies that can run, or every reason why not, a line each. */
export type LoadedSet =
  | { readonly kind: "loaded"; readonly policies: readonly LoadedPolicy[] }
  | { readonly kind: "faulty"; readonly faults: readonly string[] };

/** Loads policies beside the traffic: what takes long is done in another thread, the rest in slices. */
export interface Loader {
  /** Never rejects. Loads run one after another. */
  load(path: string): Promise<LoadedSet>;
  close(): void;
}

/** A thread that nobody needs holds memory: it is ended, and the next load starts another. */
const IDLE_MS = 30_000;

/** Makes a loader; its thread is started when it is first needed. */
export function createLoader(): Loader {
  const thread: LoadThread = { worker: undefined, waiter: undefined, idle: undefined };
  let last: Promise<unknown> = Promise.resolve();
  return {
    load: (path) => {
      const loading = last.then(() => loadInThread(thread, path));
      last = loading;
      return loading;
    },
    close: () => end(thread),
  };
}

interface LoadThread {
  worker: Worker | undefined;
  waiter: Waiter | undefined;
  idle: NodeJS.Timeout | undefined;
}

interface Waiter {
  resolve(part: LoadPart): void;
  reject(error: Error): void;
}

async function loadInThread(thread: LoadThread, path: string): Promise<LoadedSet> {
  clearTimeout(thread.idle);
  // A load keeps the process up, a thread that waits for the next one does not.
  thread.worker?.ref();
  try {
    return await collect(thread, path);
  } catch (error) {
    end(thread);
    const cause = error instanceof Error ? error.message : String(error);
    return { kind: "faulty", faults: [`the policies could not be loaded: ${cause}`] };
  } finally {
    thread.worker?.unref();
    thread.idle = setTimeout(() => end(thread), IDLE_MS);
    thread.idle.unref();
  }
}

/** A policy as it arrives. */
interface Arriving {
  readonly parts: Omit<PolicyParts, "rules">;
  readonly document: string;
  readonly robots: SiteFiles | undefined;
  readonly rules: Rule[];
}

async function collect(thread: LoadThread, path: string): Promise<LoadedSet> {
  const arriving: Arriving[] = [];
  let request: LoadRequest = { kind: "load", path };
  for (;;) {
    const part = await ask(thread, request);
    request = { kind: "next" };
    switch (part.kind) {
      case "faulty":
        return part;
      case "policy":
        arriving.push({ ...part, rules: [] });
        break;
      case "rules":
        arriving.at(-1)?.rules.push(...part.rules);
        break;
      case "end":
        return { kind: "loaded", policies: await inSlices(install(arriving)) };
    }
    // The next part may be here already, and would be taken in the same turn.
    await setImmediate();
  }
}

/** Closures cannot leave a thread, so they are made here. */
function* install(arriving: readonly Arriving[]): Steps<readonly LoadedPolicy[]> {
  const installed: LoadedPolicy[] = [];
  for (const { parts, rules, document, robots } of arriving) {
    const policy = yield* policySteps({ ...parts, rules });
    yield* warm(policy);
    installed.push({ policy, document, robots });
  }
  return installed;
}

/** Makes each bot's rules ready now, so that no first request has to wait for them. */
function* warm(policy: Policy): Steps<void> {
  for (const bot of [...policy.bots, policy.defaultBot]) {
    for (const verification of reachableVerifications(bot)) {
      yield* policy.evaluator.warm(bot, verification);
      yield;
    }
  }
}

/** The same file as TypeScript in a checkout and as JavaScript in a package. */
const WORKER_FILE = import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js";

function ask(thread: LoadThread, request: LoadRequest): Promise<LoadPart> {
  return new Promise((resolve, reject) => {
    thread.waiter = { resolve, reject };
    thread.worker ??= startWorker(thread);
    thread.worker.postMessage(request);
  });
}

function startWorker(thread: LoadThread): Worker {
  const worker = new Worker(new URL(WORKER_FILE, import.meta.url));
  const fail = (error: Error): void => thread.waiter?.reject(error);
  worker.on("message", (part: LoadPart) => thread.waiter?.resolve(part));
  worker.on("error", fail);
  worker.on("exit", () => fail(new Error("the loading thread ended")));
  return worker;
}

function end(thread: LoadThread): void {
  clearTimeout(thread.idle);
  void thread.worker?.terminate();
  thread.worker = undefined;
}
