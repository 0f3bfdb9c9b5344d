import { Resolver } from "node:dns/promises";
import { LRUCache } from "lru-cache";
import type { Proof } from "../../core/bot/proof.ts";
import { reverseName } from "../../core/bot/reverse-name.ts";
import { type DnsAnswer, dnsUnavailable, lookUpReverse } from "./dns-lookup.ts";
import { within } from "./within.ts";

/** Proves by reverse DNS with forward confirmation, from a cache where it can. */
export interface ReverseDns {
  /** What is known of an address already; undefined when it would have to be asked. */
  known(ip: string, suffixes: readonly string[], nowMs: number): Proof | undefined;
  /** Never rejects, and waits no longer than `timeoutMs` from the start of the lookup it joins. */
  prove(ip: string, suffixes: readonly string[], nowMs: number): Promise<Proof>;
  /** Asks in the background, for the cache. */
  warm(ip: string, suffixes: readonly string[], nowMs: number): void;
  counts(): DnsCounts;
  /** Gives up what is in flight. */
  close(): void;
}

export interface DnsCounts {
  /** Lookups started. */
  readonly lookups: number;
  /** Lookups that ended without an answer. */
  readonly failed: number;
  /** Checks turned away because too many were in flight or waiting. */
  readonly refusedBusy: number;
  readonly inFlight: number;
  readonly cached: number;
}

export interface ReverseDnsOptions {
  /** `host:port` or `host`; undefined for the system's. */
  readonly servers: readonly string[] | undefined;
  /** How long a request waits. */
  readonly timeoutMs: number;
}

const MAX_LOOKUPS = 32;
/** Whoever holds a reverse zone holds at least a /24, or a /48: one zone never takes every place. */
const MAX_LOOKUPS_PER_ZONE = 4;
/** Requests that may wait for one lookup; the next are told at once. */
const MAX_WAITING = 64;
const MAX_CACHED = 16_384;
/** How long a lookup runs on for the cache when nobody waits for it any more. */
const LOOKUP_MS = 5_000;

interface Entry {
  readonly proof: Proof;
  readonly expiresAtMs: number;
}

interface Lookup {
  readonly key: string;
  readonly zone: string;
  readonly resolver: Resolver;
  readonly done: Promise<Proof>;
  /** Monotonic milliseconds after which no request waits for it. */
  readonly deadline: number;
  waiting: number;
}

interface State {
  readonly options: ReverseDnsOptions;
  /** Two caches, so that nobody who fails to prove anything can push out those who did. */
  readonly proved: LRUCache<string, Entry>;
  readonly others: LRUCache<string, Entry>;
  /** Oldest first. */
  readonly lookups: Map<string, Lookup>;
  readonly zones: Map<string, number>;
  readonly idle: Resolver[];
  readonly counts: { lookups: number; failed: number; refusedBusy: number };
}

/** Opens the prover. Throws when a server is no `host:port`. */
export function openReverseDns(options: ReverseDnsOptions): ReverseDns {
  const state: State = {
    options,
    proved: new LRUCache({ max: MAX_CACHED }),
    others: new LRUCache({ max: MAX_CACHED }),
    lookups: new Map(),
    zones: new Map(),
    idle: [createResolver(options.servers)],
    counts: { lookups: 0, failed: 0, refusedBusy: 0 },
  };
  return {
    known: (ip, suffixes, nowMs) => known(state, keyOf(ip, suffixes), nowMs),
    prove: (ip, suffixes, nowMs) => prove(state, ip, suffixes, nowMs),
    warm: (ip, suffixes, nowMs) => {
      const key = keyOf(ip, suffixes);
      if (known(state, key, nowMs) !== undefined || state.lookups.has(key)) return;
      start(state, ip, suffixes, nowMs);
    },
    counts: () => ({
      ...state.counts,
      inFlight: state.lookups.size,
      cached: state.proved.size + state.others.size,
    }),
    close: () => {
      for (const lookup of state.lookups.values()) lookup.resolver.cancel();
    },
  };
}

function createResolver(servers: readonly string[] | undefined): Resolver {
  const resolver = new Resolver({ timeout: 1_000, tries: 3 });
  if (servers !== undefined) resolver.setServers(servers);
  return resolver;
}

function keyOf(ip: string, suffixes: readonly string[]): string {
  return `${ip} ${suffixes.join(" ")}`;
}

function known(state: State, key: string, nowMs: number): Proof | undefined {
  for (const cache of [state.proved, state.others]) {
    const entry = cache.get(key);
    if (entry !== undefined && entry.expiresAtMs > nowMs) return entry.proof;
  }
  return undefined;
}

async function prove(
  state: State,
  ip: string,
  suffixes: readonly string[],
  nowMs: number,
): Promise<Proof> {
  const key = keyOf(ip, suffixes);
  const cached = known(state, key, nowMs);
  if (cached !== undefined) return cached;
  const lookup = state.lookups.get(key) ?? start(state, ip, suffixes, nowMs);
  if (lookup === undefined || lookup.waiting >= MAX_WAITING) {
    state.counts.refusedBusy += 1;
    return dnsUnavailable(`reverse DNS of ${ip}: too many lookups at once`);
  }
  const late = dnsUnavailable(`reverse DNS of ${ip}: no answer in ${state.options.timeoutMs} ms`);
  lookup.waiting += 1;
  const proof = await within(lookup.done, lookup.deadline - performance.now(), late);
  lookup.waiting -= 1;
  return proof;
}

/** Starts a lookup that outlives its request; undefined when there is no place for it. */
function start(
  state: State,
  ip: string,
  suffixes: readonly string[],
  nowMs: number,
): Lookup | undefined {
  const zone = zoneOf(ip);
  if (!takePlace(state, zone)) return undefined;
  const key = keyOf(ip, suffixes);
  // A resolver of its own, so that this lookup can be cancelled alone.
  const resolver = state.idle.pop() ?? createResolver(state.options.servers);
  const giveUp = setTimeout(() => resolver.cancel(), Math.max(LOOKUP_MS, state.options.timeoutMs));
  giveUp.unref();
  const done = lookUpReverse(resolver, ip, suffixes).then((answer) => {
    clearTimeout(giveUp);
    keep(state, key, answer, nowMs);
    leavePlace(state, lookup);
    // One that failed is not used again: a new one reads the system's settings anew.
    const isGood = answer.proof.verification !== "unavailable";
    if (isGood && state.idle.length < MAX_LOOKUPS) state.idle.push(resolver);
    return answer.proof;
  });
  const deadline = performance.now() + state.options.timeoutMs;
  const lookup: Lookup = { key, zone, resolver, done, deadline, waiting: 0 };
  state.lookups.set(key, lookup);
  state.counts.lookups += 1;
  return lookup;
}

/** Takes a place: a free one, or that of the oldest lookup for which nobody waits any more. */
function takePlace(state: State, zone: string): boolean {
  const inZone = state.zones.get(zone) ?? 0;
  if (inZone >= MAX_LOOKUPS_PER_ZONE) return false;
  if (state.lookups.size >= MAX_LOOKUPS) {
    const overdue = oldestOverdue(state);
    if (overdue === undefined) return false;
    leavePlace(state, overdue);
    overdue.resolver.cancel();
  }
  state.zones.set(zone, (state.zones.get(zone) ?? 0) + 1);
  return true;
}

function oldestOverdue(state: State): Lookup | undefined {
  const now = performance.now();
  for (const lookup of state.lookups.values()) {
    if (lookup.deadline <= now) return lookup;
  }
  return undefined;
}

function leavePlace(state: State, lookup: Lookup): void {
  if (state.lookups.get(lookup.key) !== lookup) return;
  state.lookups.delete(lookup.key);
  const left = (state.zones.get(lookup.zone) ?? 1) - 1;
  if (left === 0) state.zones.delete(lookup.zone);
  else state.zones.set(lookup.zone, left);
}

/** The name of the reverse zone that holds an address's /24, or its /48. */
function zoneOf(ip: string): string {
  const labels = reverseName(ip)?.split(".") ?? [];
  return labels.slice(ip.includes(":") ? 20 : 1).join(".");
}

function keep(state: State, key: string, answer: DnsAnswer, nowMs: number): void {
  const entry = { proof: answer.proof, expiresAtMs: nowMs + answer.ttlMs };
  if (answer.proof.verification === "verified") {
    state.proved.set(key, entry);
    state.others.delete(key);
    return;
  }
  if (answer.proof.verification === "unavailable") state.counts.failed += 1;
  else state.proved.delete(key);
  state.others.set(key, entry);
}
