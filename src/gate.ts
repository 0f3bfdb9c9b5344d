import type { Bot, Verification } from "./core/bot/bot.ts";
import type { Check, Proof } from "./core/bot/proof.ts";
import { allowByUs, type Decision, decideFrom, isRefused, refuseByUs } from "./core/decision.ts";
import {
  createEvent,
  type DecisionEvent,
  type EventEvidence,
  type EventSubject,
} from "./core/event.ts";
import type { Allowance, Charge } from "./core/limit.ts";
import { type Answer, answerUnder, isSameAnswer } from "./core/policy/answer.ts";
import { isEnforced, type Policy, type RuleFault } from "./core/policy/policy.ts";
import type { CrawlRequest } from "./core/request.ts";

/** Proves claims. `check` answers from memory alone; only `prove` may wait, up to its own deadline. */
export interface VerifierPort {
  check(bot: Bot, request: CrawlRequest, nowMs: number): Check;
  /** Never rejects: what cannot be completed in time is `unavailable`. */
  prove(bot: Bot, request: CrawlRequest, nowMs: number): Promise<Proof>;
  /** Ids of a policy's bots whose lists hold the address (`bot.by_ip`), in the policy's order. From memory. */
  botsByIp(policy: Policy, request: CrawlRequest, nowMs: number): readonly string[];
  /** Asks in the background, for the cache and later events (`runtime.verify: always`). Never throws. */
  warm(bot: Bot, request: CrawlRequest, nowMs: number): void;
}

/** Takes one token for each charge: all of those that can refuse, or none. */
export type SpendPort = (
  charges: readonly Charge[],
  nowMs: number,
) => Allowance | Promise<Allowance>;

/** Keeps an event of a policy's, if there is one. Never throws, never waits. */
export type RecordPort = (event: DecisionEvent, policy: Policy | undefined) => void;

/** Gives an event its receipt. Never rejects: where signing fails, the event comes back without one. */
export type SealPort = (event: DecisionEvent, policy: Policy) => Promise<DecisionEvent>;

/** What the gate needs of the world. */
export interface Ports {
  readonly verifier: VerifierPort;
  readonly spend: SpendPort;
  readonly record: RecordPort;
  readonly seal: SealPort;
  /** A UUIDv7 for the given time. */
  readonly newEventId: (nowMs: number) => string;
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number;
  /** Milliseconds that never step back, with a fraction. */
  readonly monotonicMs: () => number;
}

/** One request to be judged by the policy of its site. */
export interface Visit {
  readonly policy: Policy;
  readonly request: CrawlRequest;
  readonly requestId: string | undefined;
  /** On the monotonic clock, for the event's duration. */
  readonly startedMs: number;
}

/** One request that the rules are not asked about: refused or let through by us. */
export interface UnjudgedVisit {
  /** Undefined where no site speaks for the host. */
  readonly policy: Policy | undefined;
  readonly subject: EventSubject;
  readonly requestId: string | undefined;
  readonly startedMs: number;
}

/** What became of a request. */
export interface Outcome {
  readonly bot: Bot;
  readonly verification: Verification | "not_needed";
  readonly decision: Decision;
  readonly faults: readonly RuleFault[];
  readonly event: DecisionEvent;
}

/** Rules that are ours: the place of a decision that no line of the operator's made. */
export type RuntimeRule =
  | "runtime.malformed_request"
  | "runtime.early_data"
  | "runtime.robots_txt"
  | "runtime.unknown_host";

/** The straight line from a request to its answer; one exit, so one record. */
export interface Gate {
  /** Synchronous where neither DNS nor a remote limiter has to be asked, and no receipt be sent. */
  judge(visit: Visit): Outcome | Promise<Outcome>;
  /** Refuses before the rules: what cannot be judged. */
  refuse(visit: UnjudgedVisit, rule: RuntimeRule, status: number, reason: string): Outcome;
  /** Lets through before the rules: `/robots.txt` (RFC 9309, 2.3.1.3: a refused file means no rules). */
  admit(visit: UnjudgedVisit, rule: RuntimeRule, evidence?: EventEvidence): Outcome;
}

/** Makes the gate from its ports. */
export function createGate(ports: Ports): Gate {
  return {
    judge: (visit) => judge(ports, visit),
    refuse: (visit, rule, status, reason) => {
      const enforced = visit.policy === undefined || isEnforced(visit.policy.site);
      return recordUnjudged(ports, visit, refuseByUs(enforced, rule, status, reason));
    },
    admit: (visit, rule, evidence) => {
      const enforced = visit.policy !== undefined && isEnforced(visit.policy.site);
      return recordUnjudged(ports, visit, allowByUs(enforced, rule), evidence);
    },
  };
}

/** A claim, and how far it is proved. */
interface Standing {
  readonly bot: Bot;
  readonly verification: Verification | "not_needed";
  readonly evidence: EventEvidence | undefined;
  readonly nowMs: number;
}

function judge(ports: Ports, asked: Visit): Outcome | Promise<Outcome> {
  const { verifier } = ports;
  const nowMs = ports.nowMs();
  const visit = asked.policy.evaluator.readsByIp ? withByIp(verifier, asked, nowMs) : asked;
  const { policy, request } = visit;
  const bot = policy.identify(request.userAgent);
  const check = verifier.check(bot, request, nowMs);
  if (check.kind === "settled") return judgeProved(ports, visit, bot, check.proof, nowMs);
  const answer = answerWhateverComes(policy, bot, request, check.possible);
  if (answer === undefined) {
    const proving = verifier.prove(bot, request, nowMs);
    return proving.then((proof) => judgeProved(ports, visit, bot, proof, nowMs));
  }
  if (policy.verify === "always") verifier.warm(bot, request, nowMs);
  const standing: Standing = { bot, verification: "not_needed", evidence: undefined, nowMs };
  return settle(ports, visit, standing, answer);
}

function withByIp(verifier: VerifierPort, visit: Visit, nowMs: number): Visit {
  const byIp = verifier.botsByIp(visit.policy, visit.request, nowMs);
  return { ...visit, request: { ...visit.request, byIp } };
}

/** The answer that every outcome still possible leads to; undefined where they differ. */
function answerWhateverComes(
  policy: Policy,
  bot: Bot,
  request: CrawlRequest,
  possible: readonly Verification[],
): Answer | undefined {
  let common: Answer | undefined;
  for (const verification of possible) {
    const answer = answerUnder(policy, { bot, verification }, request);
    if (common !== undefined && !isSameAnswer(policy, common, answer)) return undefined;
    common ??= answer;
  }
  return common;
}

function judgeProved(
  ports: Ports,
  visit: Visit,
  bot: Bot,
  proof: Proof,
  nowMs: number,
): Outcome | Promise<Outcome> {
  const { verification, evidence } = proof;
  const answer = answerUnder(visit.policy, { bot, verification }, visit.request);
  return settle(ports, visit, { bot, verification, evidence, nowMs }, answer);
}

const NOTHING_TO_SPEND: Allowance = { refused: -1, retryAfterMs: 0, spent: [] };

function settle(
  ports: Ports,
  visit: Visit,
  standing: Standing,
  answer: Answer,
): Outcome | Promise<Outcome> {
  if (answer.charges.length === 0) {
    return recordJudged(ports, visit, standing, answer, NOTHING_TO_SPEND);
  }
  const allowance = ports.spend(answer.charges, standing.nowMs);
  if (!(allowance instanceof Promise)) {
    return recordJudged(ports, visit, standing, answer, allowance);
  }
  return allowance.then((spent) => recordJudged(ports, visit, standing, answer, spent));
}

function recordJudged(
  ports: Ports,
  visit: Visit,
  standing: Standing,
  answer: Answer,
  allowance: Allowance,
): Outcome | Promise<Outcome> {
  const { policy } = visit;
  const decision = decideFrom(policy.site, answer, allowance);
  const subject = subjectOf(visit.request);
  const judged = { ...visit, subject };
  const outcome = outcomeOf(ports, judged, standing, decision, answer.faults);
  if (!(decision.receipt && policy.receipts.enabled)) return record(ports, judged, outcome);
  if (!isRefused(decision)) return sealAndRecord(ports, judged, policy, outcome);
  sealBehind(ports, judged, policy, outcome);
  return outcome;
}

function recordUnjudged(
  ports: Ports,
  visit: UnjudgedVisit,
  decision: Decision,
  evidence?: EventEvidence,
): Outcome {
  const nowMs = ports.nowMs();
  const bot = visit.policy?.identify(visit.subject.userAgent) ?? NOBODY;
  // Nothing about the answer depended on who asks: a claim was not looked into.
  const verification = bot.isDefault ? "unverifiable" : "not_needed";
  const standing: Standing = { bot, verification, evidence, nowMs };
  return record(ports, visit, outcomeOf(ports, visit, standing, decision, []));
}

/** Where no site speaks for the host, there is no policy that could know a bot. */
const NOBODY: Bot = {
  id: "unknown",
  name: "unknown",
  class: "unknown",
  operator: "",
  match: { userAgents: [], exact: [], anchored: [], mustNot: [] },
  verifiers: [],
  robotsToken: "*",
  isDefault: true,
};

function outcomeOf(
  ports: Ports,
  visit: UnjudgedVisit,
  standing: Standing,
  decision: Decision,
  faults: readonly RuleFault[],
): Outcome {
  const { bot, verification, evidence, nowMs } = standing;
  const event = createEvent({
    id: ports.newEventId(nowMs),
    nowMs,
    durationUs: durationUs(ports, visit),
    requestId: visit.requestId,
    policy: visit.policy,
    subject: visit.subject,
    bot,
    verification,
    evidence,
    decision,
    faults,
  });
  return { bot, verification, decision, faults, event };
}

function durationUs(ports: Ports, visit: UnjudgedVisit): number {
  return Math.round((ports.monotonicMs() - visit.startedMs) * 1000);
}

async function sealAndRecord(
  ports: Ports,
  visit: UnjudgedVisit,
  policy: Policy,
  outcome: Outcome,
): Promise<Outcome> {
  const sealed = await ports.seal(outcome.event, policy);
  // Whoever waited for the answer waited for the signature too; a receipt does not cover the time.
  const event = isRefused(outcome.decision)
    ? sealed
    : { ...sealed, duration_us: durationUs(ports, visit) };
  return record(ports, visit, { ...outcome, event });
}

/** A refusal carries no receipt: it is answered first, and nobody waits for the signature. */
function sealBehind(ports: Ports, visit: UnjudgedVisit, policy: Policy, outcome: Outcome): void {
  void Promise.resolve().then(() => sealAndRecord(ports, visit, policy, outcome));
}

/** The one exit: every outcome is recorded here, once. */
function record(ports: Ports, visit: UnjudgedVisit, outcome: Outcome): Outcome {
  ports.record(outcome.event, visit.policy);
  return outcome;
}

function subjectOf(request: CrawlRequest): EventSubject {
  const { target } = request;
  return {
    host: request.host,
    method: request.method,
    path: target.readings[0],
    rawPath: target.rawPath,
    query: target.query,
    ip: request.address.ip,
    userAgent: request.userAgent,
  };
}
