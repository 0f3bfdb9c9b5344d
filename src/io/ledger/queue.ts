import type { DecisionEvent } from "../../core/event.ts";
import type { AppendResult, RejectedEvent } from "./append.ts";
import { batchToJson } from "./batch.ts";
import {
  createBuffer,
  type EventBuffer,
  pushEvent,
  returnEvents,
  sizeOf,
  takeEvents,
} from "./buffer.ts";
import { messageOf } from "./database.ts";
import type { LedgerCounters } from "./ledger.ts";
import type { QueueLimits, QueuePorts } from "./queue-options.ts";

/** The first wait after a failed write; each further one is twice as long, up to the longest. */
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5000;

export interface EventQueue {
  /** Never throws and never waits. */
  push(event: DecisionEvent): void;
  /** Resolves when all that was pushed before is written, dropped or rejected. */
  flush(): Promise<void>;
  /**
   * Writes what is there, until nothing was written for `deadlineMs`; what is left then, and what still
   * comes, is dropped.
   */
  close(deadlineMs: number): Promise<void>;
  counters(): LedgerCounters;
}

interface QueueState {
  readonly ports: QueuePorts;
  readonly limits: QueueLimits;
  readonly buffer: EventBuffer;
  inFlight: readonly DecisionEvent[];
  inFlightBytes: number;
  /** When that was taken, in monotonic milliseconds: what waits now came later. */
  takenMs: number;
  timer: NodeJS.Timeout | undefined;
  closed: boolean;
  /** Closed before all was written: what was in flight counts as dropped, whatever becomes of it. */
  abandoned: boolean;
  /** Failed writes since the last good one. */
  failures: number;
  errors: number;
  pushed: number;
  written: number;
  dropped: number;
  rejected: number;
  /** Of `dropped` and `rejected`, what the log and the ledger were told. */
  toldDropped: number;
  toldRejected: number;
  flushers: readonly Flusher[];
}

interface Flusher {
  readonly upTo: number;
  readonly resolve: () => void;
}

/** Holds events until they are written: in order, one batch at a time. */
export function createQueue(ports: QueuePorts, limits: QueueLimits): EventQueue {
  const state: QueueState = {
    ports,
    limits,
    buffer: createBuffer(),
    inFlight: [],
    inFlightBytes: 0,
    takenMs: 0,
    timer: undefined,
    closed: false,
    abandoned: false,
    failures: 0,
    errors: 0,
    pushed: 0,
    written: 0,
    dropped: 0,
    rejected: 0,
    toldDropped: 0,
    toldRejected: 0,
    flushers: [],
  };
  return {
    push: (event) => push(state, event),
    flush: () => flush(state),
    close: (deadlineMs) => close(state, deadlineMs),
    counters: () => countersOf(state),
  };
}

function push(state: QueueState, event: DecisionEvent): void {
  state.pushed++;
  if (state.closed) {
    state.dropped++;
    return;
  }
  pushEvent(state.buffer, event);
  dropOldest(state);
  if (sizeOf(state.buffer) === state.limits.batchEvents) schedule(state, 0);
  else if (state.timer === undefined) schedule(state, state.limits.batchMs);
}

/** Keeps the queue within its bounds. What is being written is not dropped. */
function dropOldest(state: QueueState): void {
  const { buffer, limits } = state;
  while (
    sizeOf(buffer) > 0 &&
    (sizeOf(buffer) + state.inFlight.length > limits.maxEvents ||
      buffer.bytes + state.inFlightBytes > limits.maxBytes)
  ) {
    takeEvents(buffer, 1);
    state.dropped++;
  }
}

/** Writes after a while, unless a write or the wait after a failed one is already on its way. */
function schedule(state: QueueState, delayMs: number): void {
  if (state.inFlight.length > 0 || state.failures > 0) return;
  clearTimeout(state.timer);
  state.timer = setTimeout(() => send(state), delayMs);
}

function send(state: QueueState): void {
  clearTimeout(state.timer);
  state.timer = undefined;
  if (state.inFlight.length > 0) return;
  const heldBytes = state.buffer.bytes;
  const batch = takeEvents(state.buffer, batchSize(state));
  if (batch.length === 0) {
    resolveFlushers(state);
    return;
  }
  state.inFlight = batch;
  state.takenMs = performance.now();
  state.inFlightBytes = heldBytes - state.buffer.bytes;
  const { json, rejected } = batchToJson(batch);
  state.ports.append(json, state.failures > 0).then(
    (result) => state.abandoned || onWritten(state, result, rejected),
    (error: unknown) => state.abandoned || onFailed(state, error),
  );
}

/** The most that is written at once where many events wait. */
const LARGEST_BATCH = 4096;

/** A long queue goes in larger batches: each costs the main thread one turn, and the database one commit. */
function batchSize({ buffer, limits }: QueueState): number {
  return Math.max(limits.batchEvents, Math.min(LARGEST_BATCH, sizeOf(buffer) >> 2));
}

function onWritten(
  state: QueueState,
  result: AppendResult,
  unsendable: readonly RejectedEvent[],
): void {
  const rejected = [...unsendable, ...result.rejected];
  state.written += result.written;
  state.rejected += rejected.length;
  state.inFlight = [];
  state.inFlightBytes = 0;
  for (const { id, message } of rejected.slice(0, 3)) {
    state.ports.log("error", { event: id, cause: message }, "the ledger rejects an event");
  }
  if (state.failures > 0) {
    state.failures = 0;
    state.ports.log("info", { queued: queuedOf(state) }, "the ledger can be written again");
  }
  resolveFlushers(state);
  void tellGap(state);
  if (state.flushers.length > 0 || sizeOf(state.buffer) >= state.limits.batchEvents) send(state);
  else if (sizeOf(state.buffer) > 0) schedule(state, restOfWait(state));
}

/** A write takes time, which counts: no event waits longer for others because of one. */
function restOfWait({ limits, takenMs }: QueueState): number {
  return Math.max(0, limits.batchMs - (performance.now() - takenMs));
}

function onFailed(state: QueueState, error: unknown): void {
  returnEvents(state.buffer, state.inFlight);
  state.inFlight = [];
  state.inFlightBytes = 0;
  dropOldest(state);
  state.errors++;
  state.failures++;
  if (state.failures === 1) {
    const { maxEvents, maxBytes } = state.limits;
    const cause = messageOf(error);
    state.ports.log(
      "error",
      { cause, max_events: maxEvents, max_bytes: maxBytes },
      "the ledger cannot be written; events wait in memory, the oldest go first when it is full",
    );
  }
  resolveFlushers(state);
  const delay = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (state.failures - 1));
  clearTimeout(state.timer);
  state.timer = setTimeout(() => send(state), delay);
}

/** A gap is told to the log and to the ledger itself, once each, when it has ended. */
function tellGap(state: QueueState): Promise<void> {
  const { ports, buffer, limits } = state;
  const isFull = sizeOf(buffer) > limits.maxEvents / 2 || buffer.bytes > limits.maxBytes / 2;
  const dropped = state.dropped - state.toldDropped;
  const rejected = state.rejected - state.toldRejected;
  if (isFull || dropped + rejected === 0) return Promise.resolve();
  state.toldDropped += dropped;
  state.toldRejected += rejected;
  if (dropped > 0) ports.log("error", { dropped }, "the ledger has a gap: its queue was full");
  return ports.noteGap(dropped, rejected).catch((error: unknown) => {
    ports.log(
      "error",
      { dropped, rejected, cause: messageOf(error) },
      "a gap is not in the ledger",
    );
  });
}

function flush(state: QueueState): Promise<void> {
  return new Promise((resolve) => {
    state.flushers = [...state.flushers, { upTo: state.pushed, resolve }];
    // During an outage the next try comes in its own time.
    if (state.failures === 0) send(state);
  });
}

function resolveFlushers(state: QueueState): void {
  if (state.flushers.length === 0) return;
  const settled = state.written + state.dropped + state.rejected;
  for (const { upTo, resolve } of state.flushers) if (upTo <= settled) resolve();
  state.flushers = state.flushers.filter(({ upTo }) => upTo > settled);
}

async function close(state: QueueState, deadlineMs: number): Promise<void> {
  state.closed = true;
  if (state.failures > 0) send(state);
  const flushed = flush(state);
  // A database that keeps up, however slowly, gets its time: nothing is lost to haste.
  for (;;) {
    const before = state.written;
    const isDone = await within(flushed, deadlineMs);
    if (isDone || state.written === before) break;
  }
  clearTimeout(state.timer);
  await within(tellGap(state), deadlineMs);
  const left = queuedOf(state);
  if (left === 0) return;
  takeEvents(state.buffer, left);
  state.inFlight = [];
  state.inFlightBytes = 0;
  state.abandoned = true;
  state.dropped += left;
  state.ports.log("error", { dropped: left }, "the ledger is closed with events unwritten");
}

/** Whether something comes about in time. */
async function within(promise: Promise<unknown>, deadlineMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), deadlineMs);
  });
  const isDone = await Promise.race([promise.then(() => true), deadline]);
  clearTimeout(timer);
  return isDone;
}

function queuedOf(state: QueueState): number {
  return sizeOf(state.buffer) + state.inFlight.length;
}

function countersOf(state: QueueState): LedgerCounters {
  return {
    queued: queuedOf(state),
    queuedBytes: state.buffer.bytes + state.inFlightBytes,
    written: state.written,
    dropped: state.dropped,
    rejected: state.rejected,
    errors: state.errors,
  };
}
