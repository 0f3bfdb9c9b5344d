import { join } from "node:path";
import { type Bot, isVerifiable } from "../../core/bot/bot.ts";
import type { Check, Proof } from "../../core/bot/proof.ts";
import { parseAddress } from "../../core/cidr.ts";
import type { Policy } from "../../core/policy/policy.ts";
import type { CrawlRequest } from "../../core/request.ts";
import type { VerifierPort } from "../../gate.ts";
import { type DnsCounts, openReverseDns, type ReverseDns } from "./dns.ts";
import {
  isListed,
  look,
  mergeProofs,
  type Pending,
  possibleOutcomes,
  UNVERIFIABLE,
} from "./findings.ts";
import { openListStore } from "./list-store.ts";
import type { VerifyLog } from "./log.ts";
import { createNonceStore, type NonceStore } from "./nonces.ts";
import type { Plan } from "./plan.ts";
import { proveSignature } from "./signatures.ts";
import { openSources, type Sources } from "./sources.ts";
import { countsOf, type SourceCounts, type SourceStatus, statusOf } from "./status.ts";
import { within } from "./within.ts";

/** Proves the claims of all policies in use. */
export interface Verifier extends VerifierPort {
  /** Takes the policies in use, at start and at each reload. Lists of unchanged sources stay. */
  configure(policies: readonly Policy[]): void;
  /** Settles when each list is on disk or was tried once, after 10 s at most. */
  ready(): Promise<void>;
  /** The state of every source, by bot and source. */
  status(): readonly SourceStatus[];
  /** Numbers of every source, by bot and source. */
  sourceCounts(): readonly SourceCounts[];
  dnsCounts(): DnsCounts;
  close(): void;
}

export interface VerifierOptions {
  readonly dataDir: string;
  /** `host:port`; undefined for the system's. */
  readonly dnsServers: readonly string[] | undefined;
  /** How long a request waits for DNS and for keys. */
  readonly timeoutMs: number;
  /** Lets lists and keys come over http and from addresses that are not public. */
  readonly allowInsecureSources: boolean;
  /** Read the sources that have no list on disk and no other: a look, not a service. */
  readonly onlyMissing?: boolean;
  readonly log?: VerifyLog | undefined;
}

const READY_MS = 10_000;
const SILENT: VerifyLog = { info: () => undefined, warn: () => undefined };

interface State {
  readonly timeoutMs: number;
  readonly dns: ReverseDns;
  readonly sources: Sources;
  readonly nonces: NonceStore;
  /** By bot, so that a request that began under the policies before a reload ends under them. */
  readonly plans: WeakMap<Bot, Plan>;
  current: readonly Plan[];
}

/** Opens the verifier. Throws when a DNS server is no `host:port`. */
export function openVerifier(options: VerifierOptions): Verifier {
  const state = openState(options);
  return {
    configure: (policies) => {
      state.current = state.sources.plan(policies);
      for (const plan of state.current) state.plans.set(plan.bot, plan);
    },
    ready: () => ready(state),
    check: (bot, request, nowMs) => check(state, bot, request, nowMs),
    prove: (bot, request, nowMs) => prove(state, bot, request, nowMs),
    botsByIp: (policy, request, nowMs) => botsByIp(state, policy, request, nowMs),
    warm: (bot, request, nowMs) => warm(state, bot, request, nowMs),
    status: () => state.current.flatMap((plan) => statusOf(plan, Date.now())),
    sourceCounts: () => state.current.flatMap((plan) => countsOf(plan, Date.now())),
    dnsCounts: () => state.dns.counts(),
    close: () => {
      state.sources.close();
      state.dns.close();
    },
  };
}

function openState(options: VerifierOptions): State {
  const { dnsServers: servers, timeoutMs } = options;
  return {
    timeoutMs,
    dns: openReverseDns({ servers, timeoutMs }),
    sources: openSources({
      store: openListStore(join(options.dataDir, "lists")),
      allowInsecure: options.allowInsecureSources,
      reading: options.onlyMissing === true ? "when_missing" : "when_due",
      log: options.log ?? SILENT,
    }),
    nonces: createNonceStore(),
    plans: new WeakMap(),
    current: [],
  };
}

function ready(state: State): Promise<void> {
  return within(state.sources.tried(), READY_MS, undefined);
}

const UNCLAIMED: Check = { kind: "settled", proof: UNVERIFIABLE };

/** A bot that no policy in use holds cannot be checked. */
function withoutPlan(bot: Bot): Proof {
  if (!isVerifiable(bot)) return UNVERIFIABLE;
  return { verification: "unavailable", evidence: undefined, cause: `${bot.id}: not configured` };
}

function check(state: State, bot: Bot, request: CrawlRequest, nowMs: number): Check {
  if (bot.isDefault) return UNCLAIMED;
  const plan = state.plans.get(bot);
  if (plan === undefined) return { kind: "settled", proof: withoutPlan(bot) };
  const { proof, pending } = look(plan, state.dns, request, nowMs);
  if (pending.length === 0) return { kind: "settled", proof };
  return { kind: "open", possible: possibleOutcomes(proof.verification) };
}

async function prove(state: State, bot: Bot, request: CrawlRequest, nowMs: number): Promise<Proof> {
  const plan = state.plans.get(bot);
  if (plan === undefined) return withoutPlan(bot);
  const { proof, pending } = look(plan, state.dns, request, nowMs);
  const asked = await Promise.all(pending.map((each) => ask(state, each, request, nowMs)));
  return asked.reduce(mergeProofs, proof);
}

function ask(state: State, pending: Pending, request: CrawlRequest, nowMs: number): Promise<Proof> {
  switch (pending.kind) {
    case "reverse_dns":
      return state.dns.prove(request.address.ip, pending.suffixes, nowMs);
    case "web_bot_auth": {
      const deadline = performance.now() + state.timeoutMs;
      return proveSignature(request, pending.attributed, state.nonces, nowMs, deadline);
    }
  }
}

function botsByIp(
  state: State,
  policy: Policy,
  request: CrawlRequest,
  nowMs: number,
): readonly string[] {
  const { ip, isPublic } = request.address;
  const address = parseAddress(ip);
  if (address === undefined) return [];
  return policy.bots.flatMap((bot) => {
    const plan = state.plans.get(bot);
    return plan !== undefined && isListed(plan, address, isPublic, nowMs) ? [bot.id] : [];
  });
}

/** Keys are read in the background anyway, and a signature that is not needed stays unspent. */
function warm(state: State, bot: Bot, request: CrawlRequest, nowMs: number): void {
  const plan = state.plans.get(bot);
  if (plan === undefined) return;
  for (const pending of look(plan, state.dns, request, nowMs).pending) {
    if (pending.kind !== "reverse_dns") continue;
    state.dns.warm(request.address.ip, pending.suffixes, nowMs);
  }
}
