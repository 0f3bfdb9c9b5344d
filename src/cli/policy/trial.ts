import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { Bot, Verification } from "../../core/bot/bot.ts";
import type { Proof } from "../../core/bot/proof.ts";
import type { Policy } from "../../core/policy/policy.ts";
import type { CrawlRequest } from "../../core/request.ts";
import { createGate, type Gate, type Outcome, type VerifierPort } from "../../gate.ts";
import { createEventIds } from "../../io/event-id.ts";
import { createMemoryLimits } from "../../io/limits/memory.ts";
import { createForwardAuth } from "../../server/authz.ts";

/** A request that is described and not made. */
export interface TrialRequest {
  readonly method: string;
  readonly host: string;
  /** May hold `?query`. */
  readonly path: string;
  readonly ip: string;
  readonly userAgent: string;
  /** Names and values, one after the other, as Node lists them. */
  readonly headers: readonly string[];
  /** The outcome of verifying a claim, told and not found out. */
  readonly verification: Verification | undefined;
}

/** What `serve` would decide about a request, and what it saw of it. */
export interface Trial {
  readonly outcome: Outcome;
  /** The request as rules see it; undefined when they were not asked. */
  readonly request: CrawlRequest | undefined;
  /** Which source could not complete the check, and why; undefined when it was completed. */
  readonly cause: string | undefined;
}

/** A trial, or why the header fields are not those of one request. */
export type TrialResult =
  | { readonly kind: "trial"; readonly trial: Trial }
  | { readonly kind: "unusable"; readonly cause: string };

/** What a trial is made in. */
export interface TrialWorld {
  readonly findSite: (host: string) => Policy | undefined;
  /** Asked only for a claim whose outcome is not told. */
  readonly verifier: () => Promise<VerifierPort>;
}

/**
 * Sends a described request through the code that serves, with fresh buckets. A claim is always
 * verified, also where the answer does not depend on it, so that nothing shown is an assumption.
 */
export async function tryRequest(world: TrialWorld, described: TrialRequest): Promise<TrialResult> {
  const causes: string[] = [];
  const watched = watchGate(world, described);
  const forwardAuth = createForwardAuth({
    gate: watched.gate,
    findSite: world.findSite,
    trustedProxies: undefined,
    trustRequestId: false,
    nowMs: Date.now,
    onMisconfigured: (cause) => causes.push(cause),
  });
  const message = new IncomingMessage(new Socket());
  message.rawHeaders.push(...forwardedHeaders(described));
  await forwardAuth(message, performance.now());
  const trial = watched.trial();
  if (trial === undefined) return { kind: "unusable", cause: causes.join(", ") };
  return { kind: "trial", trial };
}

interface WatchedGate {
  readonly gate: Gate;
  readonly trial: () => Trial | undefined;
}

/** The gate that serves, with every claim proved before it is asked. */
function watchGate(world: TrialWorld, described: TrialRequest): WatchedGate {
  let trial: Trial | undefined;
  const withoutRules = gateWith(UNVERIFIABLE);
  const keep = (outcome: Outcome): Outcome => {
    trial = { outcome, request: undefined, cause: undefined };
    return outcome;
  };
  const gate: Gate = {
    judge: async (visit) => {
      const { policy, request } = visit;
      const bot = policy.identify(request.userAgent);
      const proof = await prove(world, bot, request, described.verification);
      const byIp = policy.evaluator.readsByIp ? await listedBots(world, policy, request) : [];
      const outcome = await gateWith(proof, byIp).judge(visit);
      trial = { outcome, request, cause: proof.cause };
      return outcome;
    },
    refuse: (...visit) => keep(withoutRules.refuse(...visit)),
    admit: (...visit) => keep(withoutRules.admit(...visit)),
  };
  return { gate, trial: () => trial };
}

const UNVERIFIABLE: Proof = { verification: "unverifiable", evidence: undefined, cause: undefined };

async function prove(
  world: TrialWorld,
  bot: Bot,
  request: CrawlRequest,
  told: Verification | undefined,
): Promise<Proof> {
  if (bot.isDefault) return UNVERIFIABLE;
  if (told !== undefined) return { verification: told, evidence: undefined, cause: undefined };
  const verifier = await world.verifier();
  const nowMs = Date.now();
  const check = verifier.check(bot, request, nowMs);
  return check.kind === "settled" ? check.proof : verifier.prove(bot, request, nowMs);
}

async function listedBots(
  world: TrialWorld,
  policy: Policy,
  request: CrawlRequest,
): Promise<readonly string[]> {
  const verifier = await world.verifier();
  return verifier.botsByIp(policy, request, Date.now());
}

function gateWith(proof: Proof, byIp: readonly string[] = []): Gate {
  return createGate({
    verifier: {
      check: () => ({ kind: "settled", proof }),
      prove: async () => proof,
      botsByIp: () => byIp,
      warm: () => undefined,
    },
    spend: createMemoryLimits({ capacity: 1024 }).spend,
    record: () => undefined,
    seal: async (event) => event,
    newEventId: createEventIds(),
    nowMs: Date.now,
    monotonicMs: () => performance.now(),
  });
}

/** As a proxy would ask about the request. */
function forwardedHeaders(described: TrialRequest): readonly string[] {
  const fields = [
    ["X-Forwarded-Method", described.method],
    ["X-Forwarded-Uri", described.path],
    ["X-Forwarded-Host", described.host],
    ["X-Forwarded-Proto", "https"],
    ["X-Forwarded-For", described.ip],
  ];
  const agent = described.userAgent === "" ? [] : ["User-Agent", described.userAgent];
  return [...fields.flat(), ...agent, ...described.headers].map(toWire);
}

/** Node hands over each byte of a field as one character. */
function toWire(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

/** The host that is asked for where none is told: the first exact one, else one that a wildcard fits. */
export function defaultHost({ site }: Policy): string {
  const exact = site.hosts.find((host) => !host.includes("*"));
  const wildcard = site.hosts.find((host) => host.startsWith("*."));
  return exact ?? wildcard?.replace("*", "www") ?? "localhost";
}
