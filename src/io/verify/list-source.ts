import { unwatchFile, watchFile } from "node:fs";
import {
  type AddressList,
  createAddressList,
  describeDropped,
  suddenChange,
} from "../../core/bot/address-list.ts";
import type { ListOrigin } from "./list-origin.ts";
import { readOrigin } from "./list-origin.ts";
import type { ListStore } from "./list-store.ts";
import type { VerifyLog } from "./log.ts";

/** A list in use. */
export interface HeldList {
  readonly list: AddressList;
  /** Tells one content of the document from another. */
  readonly version: string;
  readonly etag: string | undefined;
  readonly url: string;
  readonly fetchedAtMs: number;
}

/** One address list: fetched in the background, kept on disk, and the last good one kept in use. */
export interface ListSource {
  readonly origin: ListOrigin;
  /** The last good list, whatever its age. */
  held(): HeldList | undefined;
  /** What went wrong at the last attempt; undefined when it went well or there was none. */
  error(): string | undefined;
  /** Attempts that failed since the start. */
  failures(): number;
  /** Settles when a list that is still fresh is in use, or one attempt was made. Never rejects. */
  readonly tried: Promise<void>;
  /** How often the list is wanted, in milliseconds; the shortest wish of its users. */
  setRefresh(refreshMs: number): void;
  /** Ends refreshing. What is held stays readable. */
  stop(): void;
}

export interface ListSourceOptions {
  readonly origin: ListOrigin;
  readonly refreshMs: number;
  readonly store: ListStore;
  readonly allowInsecure: boolean;
  /** When a source is read: whenever its list is due, or only where the disk holds no list of it. */
  readonly reading: "when_due" | "when_missing";
  readonly log: VerifyLog;
}

const DAY_MS = 86_400_000;
const LONGEST_RETRY_MS = 15 * 60_000;
const WATCH_EVERY_MS = 2_000;

interface State {
  readonly options: ListSourceOptions;
  readonly stopped: AbortController;
  refreshMs: number;
  held: HeldList | undefined;
  error: string | undefined;
  failures: number;
  /** Failures since the last success. */
  inARow: number;
  /** A document that differs too much to be believed at once, and since when it is served. */
  heldBack: { readonly version: string; readonly sinceMs: number } | undefined;
  attempt: Promise<void> | undefined;
  timer: NodeJS.Timeout | undefined;
}

/** Opens a source and begins to read it. */
export function openListSource(options: ListSourceOptions): ListSource {
  const state: State = {
    options,
    stopped: new AbortController(),
    refreshMs: options.refreshMs,
    held: undefined,
    error: undefined,
    failures: 0,
    inARow: 0,
    heldBack: undefined,
    attempt: undefined,
    timer: undefined,
  };
  const { origin } = options;
  const changed = (): void => void attempt(state);
  if (origin.kind === "file") {
    watchFile(origin.path, { interval: WATCH_EVERY_MS, persistent: false }, changed);
  }
  return {
    origin,
    held: () => state.held,
    error: () => state.error,
    failures: () => state.failures,
    tried: begin(state),
    setRefresh: (refreshMs) => {
      if (refreshMs === state.refreshMs) return;
      state.refreshMs = refreshMs;
      schedule(state);
    },
    stop: () => {
      state.stopped.abort();
      clearTimeout(state.timer);
      if (origin.kind === "file") unwatchFile(origin.path, changed);
    },
  };
}

async function begin(state: State): Promise<void> {
  const { origin, store } = state.options;
  if (origin.kind === "url") {
    const stored = await store.read(origin);
    const list = createAddressList(stored?.prefixes ?? []);
    // An age in the future is no age: the clock was wrong then, or is now.
    if (stored !== undefined && list.kind === "list" && stored.fetchedAtMs <= Date.now()) {
      state.held = { ...stored, list };
    }
  }
  if (state.held === undefined) return await attempt(state);
  if (Date.now() < state.held.fetchedAtMs + state.refreshMs) schedule(state);
  else if (state.options.reading === "when_due") await attempt(state);
}

/** Plans the next attempt: at 80 to 90 % of the refresh interval, or sooner after a failure. */
function schedule(state: State): void {
  clearTimeout(state.timer);
  if (state.stopped.signal.aborted || state.options.reading === "when_missing") return;
  const due =
    state.inARow > 0 || state.held === undefined
      ? retryDelay(state)
      : state.held.fetchedAtMs + state.refreshMs * (0.8 + 0.1 * Math.random()) - Date.now();
  const delay = Math.min(Math.max(due, 0), DAY_MS);
  state.timer = setTimeout(() => {
    if (due > DAY_MS) schedule(state);
    else void attempt(state);
  }, delay);
  // Refreshing never keeps a command alive.
  state.timer.unref();
}

function retryDelay(state: State): number {
  const first = Math.min(30_000, state.refreshMs / 20);
  const longest = Math.min(LONGEST_RETRY_MS, state.refreshMs / 2);
  const delay = Math.min(first * 2 ** Math.min(state.inARow - 1, 20), longest);
  return delay * (0.75 + 0.5 * Math.random());
}

/** Reads the source once; whoever comes meanwhile gets the same attempt. Never rejects. */
function attempt(state: State): Promise<void> {
  state.attempt ??= readOnce(state).finally(() => {
    state.attempt = undefined;
    schedule(state);
  });
  return state.attempt;
}

async function readOnce(state: State): Promise<void> {
  const { origin, allowInsecure } = state.options;
  const read = await readOrigin(origin, {
    allowInsecure,
    etag: state.held?.etag,
    signal: state.stopped.signal,
  });
  if (state.stopped.signal.aborted) return;
  switch (read.kind) {
    case "failed":
      fail(state, read.cause);
      return;
    case "unchanged":
      if (state.held !== undefined) await accept(state, { ...state.held, fetchedAtMs: Date.now() });
      return;
    case "document": {
      const list = createAddressList(read.entries);
      if (list.kind === "refused") fail(state, `the document ${list.reason}`);
      else await consider(state, { ...read, list, fetchedAtMs: Date.now() });
    }
  }
}

const HELD_BACK_MS = 15 * 60_000;

/** Takes a list, but one that is suddenly other only once it was served so for a while. */
async function consider(state: State, next: HeldList): Promise<void> {
  const sudden =
    state.held === undefined || state.options.origin.kind === "file"
      ? undefined
      : suddenChange(state.held.list, next.list);
  if (sudden === undefined) return await accept(state, next);
  const { version, fetchedAtMs: nowMs } = next;
  if (state.heldBack?.version !== version) state.heldBack = { version, sinceMs: nowMs };
  // A tenth of the refresh interval: over before the last good list expires.
  const waitMs = Math.min(HELD_BACK_MS, state.refreshMs / 10);
  if (nowMs - state.heldBack.sinceMs >= waitMs) await accept(state, next);
  else fail(state, `the document ${sudden}; held back until it has stayed so for a while`);
}

function fail(state: State, cause: string): void {
  state.failures += 1;
  state.inARow += 1;
  state.error = cause;
  const fields = { source: state.options.origin.label, cause, failures_in_a_row: state.inARow };
  state.options.log.warn(fields, "address list not refreshed; the last good one stays");
}

async function accept(state: State, next: HeldList): Promise<void> {
  const before = state.held;
  state.held = next;
  state.error = undefined;
  state.inARow = 0;
  state.heldBack = undefined;
  const { origin, store, log } = state.options;
  if (before?.version !== next.version || before.url !== next.url)
    log.info(describeChange(state, before, next), "address list read");
  if (origin.kind !== "url") return;
  try {
    const { list, ...facts } = next;
    await store.write(origin, { ...facts, prefixes: list.prefixes });
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    log.warn({ source: origin.label, cause }, "address list not kept on disk");
  }
}

function describeChange(state: State, before: HeldList | undefined, next: HeldList): object {
  const had = new Set(before?.list.prefixes ?? []);
  const added = next.list.prefixes.filter((prefix) => !had.delete(prefix)).length;
  return {
    source: state.options.origin.label,
    url: next.url,
    version: next.version,
    prefixes: next.list.prefixes.length,
    added,
    removed: had.size,
    dropped: describeDropped(next.list.dropped),
  };
}
