import { webcrypto as nodeCrypto } from "node:crypto";
import { type Verifier as SignatureVerifier, webcrypto } from "http-message-sig";
import {
  type DirectoryKey,
  PUBLISHED_TEST_KEYS,
  parseKeyDirectory,
} from "../../core/bot/key-directory.ts";
import { fetchDocument } from "./guarded-fetch.ts";
import type { VerifyLog } from "./log.ts";
import { within } from "./within.ts";

/** What a directory says of a key. */
export type KeyAnswer =
  | { readonly kind: "key"; readonly verifier: SignatureVerifier }
  | { readonly kind: "refused"; readonly fault: "key_unknown" | "key_expired" | "test_key" }
  /** The directory could not be read, so nothing can be said. */
  | { readonly kind: "unavailable"; readonly cause: string };

/** The keys of one operator, read in the background from its directory. */
export interface KeySource {
  readonly origin: string;
  /**
   * The key of this id. A key that is not known yet has the directory read again, which may be waited
   * for until `deadline` (monotonic milliseconds). Never rejects.
   */
  find(keyId: string, nowMs: number, deadline: number): Promise<KeyAnswer>;
  state(): KeySourceState;
  /** Settles when the directory was read, or tried once. Never rejects. */
  readonly tried: Promise<void>;
  stop(): void;
}

export interface KeySourceState {
  readonly keys: number;
  /** Attempts that failed since the start. */
  readonly failures: number;
  readonly fetchedAtMs: number | undefined;
  readonly expiresAtMs: number | undefined;
  readonly error: string | undefined;
}

export interface KeySourceOptions {
  readonly origin: string;
  readonly allowInsecure: boolean;
  readonly log: VerifyLog;
}

/** Where operators publish their keys, below their origin. */
const DIRECTORY_PATH = "/.well-known/http-message-signatures-directory";

const MAX_BYTES = 64 * 1024;
const TIMEOUT_MS = 5_000;
const SHORTEST_MS = 5 * 60_000;
const USUAL_MS = 3_600_000;
const LONGEST_MS = 86_400_000;
/** An outage of the directory revokes no key for so long. */
const BELIEVED_MS = 7 * 86_400_000;
/** An unknown key has the directory read again, but not more often than this. */
const AGAIN_MS = 60_000;
const MAX_WAITING = 256;

interface HeldKey {
  readonly key: DirectoryKey;
  readonly verifier: SignatureVerifier;
}

interface State {
  readonly options: KeySourceOptions;
  readonly stopped: AbortController;
  /** Replaced whole by each good answer: a key that is gone is revoked. */
  keys: ReadonlyMap<string, HeldKey>;
  fetchedAtMs: number | undefined;
  expiresAtMs: number;
  error: string | undefined;
  failures: number;
  inARow: number;
  /** Monotonic. */
  attemptedAt: number;
  attempt: Promise<void> | undefined;
  waiting: number;
  timer: NodeJS.Timeout | undefined;
}

/** Opens a directory and begins to read it. */
export function openKeySource(options: KeySourceOptions): KeySource {
  const state: State = {
    options,
    stopped: new AbortController(),
    keys: new Map(),
    fetchedAtMs: undefined,
    expiresAtMs: 0,
    error: undefined,
    failures: 0,
    inARow: 0,
    attemptedAt: Number.NEGATIVE_INFINITY,
    attempt: undefined,
    waiting: 0,
    timer: undefined,
  };
  return {
    origin: options.origin,
    find: (keyId, nowMs, deadline) => find(state, keyId, nowMs, deadline),
    state: () => ({
      keys: state.keys.size,
      failures: state.failures,
      fetchedAtMs: state.fetchedAtMs,
      expiresAtMs: state.fetchedAtMs === undefined ? undefined : state.expiresAtMs,
      error: state.error,
    }),
    tried: attempt(state),
    stop: () => {
      state.stopped.abort();
      clearTimeout(state.timer);
    },
  };
}

async function find(
  state: State,
  keyId: string,
  nowMs: number,
  deadline: number,
): Promise<KeyAnswer> {
  if (PUBLISHED_TEST_KEYS.has(keyId) && !state.options.allowInsecure) {
    return { kind: "refused", fault: "test_key" };
  }
  if (!state.keys.has(keyId)) await readAgain(state, deadline);
  const { fetchedAtMs } = state;
  if (fetchedAtMs === undefined || nowMs > fetchedAtMs + BELIEVED_MS) {
    return unavailable(state, state.error ?? "not read yet");
  }
  const held = state.keys.get(keyId);
  if (held !== undefined) return judge(held, nowMs / 1_000);
  // Only a directory that was read lately can say that there is no such key.
  if (state.error === undefined) return { kind: "refused", fault: "key_unknown" };
  return unavailable(state, state.error);
}

function judge(held: HeldKey, now: number): KeyAnswer {
  const { notBefore = 0, notAfter = Number.POSITIVE_INFINITY } = held.key;
  if (now < notBefore || now > notAfter) return { kind: "refused", fault: "key_expired" };
  return { kind: "key", verifier: held.verifier };
}

function unavailable(state: State, cause: string): KeyAnswer {
  return { kind: "unavailable", cause: `${state.options.origin}: ${cause}` };
}

/** Joins the attempt in flight, or makes one unless there was one lately. */
async function readAgain(state: State, deadline: number): Promise<void> {
  const isRecent = performance.now() - state.attemptedAt < AGAIN_MS;
  if (state.attempt === undefined && isRecent) return;
  const reading = attempt(state);
  if (state.waiting >= MAX_WAITING) return;
  state.waiting += 1;
  await within(reading, deadline - performance.now(), undefined);
  state.waiting -= 1;
}

/** Reads the directory once; whoever comes meanwhile gets the same attempt. Never rejects. */
function attempt(state: State): Promise<void> {
  state.attempt ??= readOnce(state).finally(() => {
    state.attempt = undefined;
    schedule(state);
  });
  return state.attempt;
}

function schedule(state: State): void {
  clearTimeout(state.timer);
  if (state.stopped.signal.aborted) return;
  const due =
    state.inARow > 0
      ? Math.min(1_000 * 2 ** Math.min(state.inARow - 1, 12), SHORTEST_MS)
      : (state.expiresAtMs - Date.now()) * 0.8;
  state.timer = setTimeout(() => void attempt(state), due * (0.9 + 0.1 * Math.random()));
  state.timer.unref();
}

async function readOnce(state: State): Promise<void> {
  const { origin, allowInsecure } = state.options;
  state.attemptedAt = performance.now();
  const fetched = await fetchDocument(`${origin}${DIRECTORY_PATH}`, {
    maxBytes: MAX_BYTES,
    timeoutMs: TIMEOUT_MS,
    maxRedirects: 0,
    allowInsecure,
    accept: "application/http-message-signatures-directory+json",
    signal: state.stopped.signal,
  });
  if (state.stopped.signal.aborted) return;
  if (fetched.kind !== "document") {
    fail(state, fetched.kind === "failed" ? fetched.cause : "status 304");
    return;
  }
  const keys = await importDirectory(fetched.body.toString("utf8"));
  if (typeof keys === "string") fail(state, keys);
  else accept(state, keys, lifetimeOf(fetched.cacheControl));
}

function fail(state: State, cause: string): void {
  state.failures += 1;
  state.inARow += 1;
  state.error = cause;
  const { origin, log } = state.options;
  log.warn({ directory: origin, cause }, "key directory not read; known keys stay");
}

function accept(state: State, keys: ReadonlyMap<string, HeldKey>, lifetimeMs: number): void {
  const changed = [...keys.keys()].join() !== [...state.keys.keys()].join();
  state.keys = keys;
  state.fetchedAtMs = Date.now();
  state.expiresAtMs = state.fetchedAtMs + lifetimeMs;
  state.error = undefined;
  state.inARow = 0;
  const { origin, log } = state.options;
  if (changed) log.info({ directory: origin, keys: [...keys.keys()] }, "key directory read");
}

/** The keys, or why there are none. */
async function importDirectory(text: string): Promise<ReadonlyMap<string, HeldKey> | string> {
  const directory = parseKeyDirectory(text);
  if (directory.kind === "unreadable") return `the directory ${directory.reason}`;
  const held = await Promise.all(directory.keys.map(importKey));
  return new Map(held.flatMap((each) => (each === undefined ? [] : [[each.key.id, each]])));
}

async function importKey(key: DirectoryKey): Promise<HeldKey | undefined> {
  try {
    const jwk = { kty: "OKP", crv: "Ed25519", x: key.x };
    const usable = await nodeCrypto.subtle.importKey("jwk", jwk, "Ed25519", false, ["verify"]);
    return { key, verifier: webcrypto.verifier(usable) };
  } catch {
    return undefined;
  }
}

function lifetimeOf(cacheControl: string): number {
  const seconds = /(?:^|[,\s])max-age=(\d{1,9})/i.exec(cacheControl)?.[1];
  if (seconds === undefined) return USUAL_MS;
  return Math.min(Math.max(Number(seconds) * 1_000, SHORTEST_MS), LONGEST_MS);
}
