import { join } from "node:path";
import { type Bot, isVerifiable, type Verification } from "../../core/bot/bot.ts";
import {
  type Check,
  combineVerifications,
  type Evidence,
  type Proof,
} from "../../core/bot/proof.ts";
import { type Address, parseAddress } from "../../core/cidr.ts";
import type { Policy } from "../../core/policy/policy.ts";
import type { CrawlRequest } from "../../core/request.ts";
import type { VerifierPort } from "../../gate.ts";
import { type DnsCounts, openReverseDns, type ReverseDns } from "./dns.ts";
import { lookUpLists } from "./list-lookup.ts";
import type { ListOrigin } from "./list-origin.ts";
import { type ListSource, openListSource, type VerifyLog } from "./list-source.ts";
import { type ListStore, openListStore } from "./list-store.ts";
import { createPlan, type Means, type Plan, possibleOutcomes } from "./plan.ts";
import { type SourceStatus, statusOf } from "./status.ts";

/** Proves the claims of all policies in use. */
export interface Verifier extends VerifierPort {
  /** Takes the policies in use, at start and at each reload. Lists of unchanged sources stay. */
  configure(policies: readonly Policy[]): void;
  /** Settles when each list is on disk or was tried once, after 10 s at most. */
  ready(): Promise<void>;
  /** The state of every source, by bot and source. */
  status(): readonly SourceStatus[];
  /** Asks in the background what a check left open, for later requests. Never throws. */
  warm(bot: Bot, request: CrawlRequest, nowMs: number): void;
  dnsCounts(): DnsCounts;
  close(): void;
}

export interface VerifierOptions {
  readonly dataDir: string;
  /** `host:port`; undefined for the system's. */
  readonly dnsServers: readonly string[] | undefined;
  /** How long a request waits for DNS. */
  readonly timeoutMs: number;
  /** Lets lists come over http and from addresses that are not public. */
  readonly allowInsecureSources: boolean;
  /** Read the sources that have no list on disk and no other: a look, not a service. */
  readonly onlyMissing?: boolean;
  readonly log?: VerifyLog | undefined;
}

const READY_MS = 10_000;
const SILENT: VerifyLog = { info: () => undefined, warn: () => undefined };

interface State {
  readonly options: VerifierOptions;
  readonly store: ListStore;
  readonly dns: ReverseDns;
  readonly sources: Map<string, ListSource>;
  /** By bot, so that a request that began under the policies before a reload ends under them. */
  readonly plans: WeakMap<Bot, Plan>;
  current: readonly Plan[];
}

/** Opens the verifier. Throws when a DNS server is no `host:port`. */
export function openVerifier(options: VerifierOptions): Verifier {
  const { dnsServers: servers, timeoutMs } = options;
  const state: State = {
    options,
    store: openListStore(join(options.dataDir, "lists")),
    dns: openReverseDns({ servers, timeoutMs }),
    sources: new Map(),
    plans: new WeakMap(),
    current: [],
  };
  return {
    configure: (policies) => configure(state, policies),
    ready: () => ready(state),
    check: (bot, request, nowMs) => check(state, bot, request, nowMs),
    prove: (bot, request, nowMs) => prove(state, bot, request, nowMs),
    warm: (bot, request, nowMs) => warm(state, bot, request, nowMs),
    status: () => state.current.flatMap((plan) => statusOf(plan, Date.now())),
    dnsCounts: () => state.dns.counts(),
    close: () => {
      for (const source of state.sources.values()) source.stop();
      state.dns.close();
    },
  };
}

function configure(state: State, policies: readonly Policy[]): void {
  const wanted = new Map<string, number>();
  const find = (origin: ListOrigin, refreshMs: number): ListSource => {
    wanted.set(origin.key, Math.min(refreshMs, wanted.get(origin.key) ?? refreshMs));
    return findSource(state, origin, refreshMs);
  };
  state.current = policies.flatMap((policy) =>
    policy.bots
      .filter((bot) => !bot.isDefault)
      .map((bot) => {
        const plan = createPlan(policy, bot, find);
        state.plans.set(bot, plan);
        return plan;
      }),
  );
  for (const [key, source] of state.sources) {
    const refreshMs = wanted.get(key);
    if (refreshMs !== undefined) {
      source.setRefresh(refreshMs);
      continue;
    }
    source.stop();
    state.sources.delete(key);
  }
}

function findSource(state: State, origin: ListOrigin, refreshMs: number): ListSource {
  const known = state.sources.get(origin.key);
  if (known !== undefined) return known;
  const { store, options } = state;
  const source = openListSource({
    origin,
    refreshMs,
    store,
    allowInsecure: options.allowInsecureSources,
    reading: options.onlyMissing === true ? "when_missing" : "when_due",
    log: options.log ?? SILENT,
  });
  state.sources.set(origin.key, source);
  return source;
}

async function ready(state: State): Promise<void> {
  const tried = Promise.all([...state.sources.values()].map((source) => source.tried));
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, READY_MS);
  });
  await Promise.race([tried, late]);
  clearTimeout(timer);
}

const UNVERIFIABLE: Proof = { verification: "unverifiable", evidence: undefined, cause: undefined };

/** The default bot claims nothing; a bot of no configured policy cannot be checked. */
function withoutPlan(bot: Bot): Proof {
  if (bot.isDefault || !isVerifiable(bot)) return UNVERIFIABLE;
  return { verification: "unavailable", evidence: undefined, cause: `${bot.id}: not configured` };
}

/** What the verifiers asked so far say together. */
interface Findings {
  readonly verification: Verification;
  readonly evidence: Evidence | undefined;
  readonly cause: string | undefined;
  /** Suffix lists of the reverse DNS that nobody has asked yet. */
  readonly open: readonly (readonly string[])[];
}

function check(state: State, bot: Bot, request: CrawlRequest, nowMs: number): Check {
  const plan = state.plans.get(bot);
  if (plan === undefined) return { kind: "settled", proof: withoutPlan(bot) };
  const findings = look(state, plan, request, nowMs);
  if (findings.verification === "verified" || findings.open.length === 0) {
    const { verification, evidence, cause } = findings;
    return { kind: "settled", proof: { verification, evidence, cause } };
  }
  return { kind: "open", possible: possibleOutcomes(findings.verification) };
}

async function prove(state: State, bot: Bot, request: CrawlRequest, nowMs: number): Promise<Proof> {
  const plan = state.plans.get(bot);
  if (plan === undefined) return withoutPlan(bot);
  const { open, ...known } = look(state, plan, request, nowMs);
  if (known.verification === "verified" || open.length === 0) return known;
  const { ip } = request.address;
  const asked = await Promise.all(open.map((suffixes) => state.dns.prove(ip, suffixes, nowMs)));
  return [known, ...asked].reduce(merge);
}

function warm(state: State, bot: Bot, request: CrawlRequest, nowMs: number): void {
  const plan = state.plans.get(bot);
  if (plan === undefined) return;
  for (const suffixes of look(state, plan, request, nowMs).open) {
    state.dns.warm(request.address.ip, suffixes, nowMs);
  }
}

/** Asks every verifier that answers from memory, until one proves the claim. */
function look(state: State, plan: Plan, request: CrawlRequest, nowMs: number): Findings {
  const { ip, isPublic } = request.address;
  const address = parseAddress(ip);
  let known: Proof = UNVERIFIABLE;
  const open: (readonly string[])[] = [];
  for (const means of plan.means) {
    const proof =
      address === undefined ? UNVERIFIABLE : lookAt(state, means, address, isPublic, nowMs);
    if (proof === undefined) {
      if (means.kind === "reverse_dns") open.push(means.suffixes);
      continue;
    }
    known = merge(known, proof);
    if (known.verification === "verified") break;
  }
  return { ...known, open };
}

/** Undefined when only the DNS can tell. */
function lookAt(
  state: State,
  means: Means,
  address: Address,
  isPublic: boolean,
  nowMs: number,
): Proof | undefined {
  // An address that is not public proves nothing by a list or the DNS: anybody's network has it.
  if (!isPublic && means.kind !== "static_ranges") return UNVERIFIABLE;
  switch (means.kind) {
    case "static_ranges": {
      const prefix = means.set.find(address);
      if (prefix !== undefined) return proofOf("verified", { static_ranges: { prefix } });
      return isPublic
        ? proofOf("refuted", { static_ranges: { reason: "not listed" } })
        : UNVERIFIABLE;
    }
    case "ip_ranges":
      return lookUpLists(means, address, nowMs);
    case "reverse_dns":
      return state.dns.known(address.text, means.suffixes, nowMs);
  }
}

function proofOf(verification: Verification, evidence: Evidence): Proof {
  return { verification, evidence, cause: undefined };
}

/** Two findings as one (contract 1). Of two by verifiers of one kind the deciding evidence stays. */
function merge(left: Proof, right: Proof): Proof {
  if (left === UNVERIFIABLE) return right;
  const verification = combineVerifications([left.verification, right.verification]);
  const [first, second] = verification === right.verification ? [right, left] : [left, right];
  return {
    verification,
    evidence:
      first.evidence === undefined && second.evidence === undefined
        ? undefined
        : { ...second.evidence, ...first.evidence },
    cause: verification === "unavailable" ? (first.cause ?? second.cause) : undefined,
  };
}
