import type { Verification } from "../../src/core/bot/bot.ts";
import type { Proof } from "../../src/core/bot/proof.ts";
import { readClientAddress } from "../../src/core/client-address.ts";
import type { DecisionEvent } from "../../src/core/event.ts";
import type { Charge } from "../../src/core/limit.ts";
import type { Policy } from "../../src/core/policy/policy.ts";
import type { CrawlRequest } from "../../src/core/request.ts";
import { parseTarget } from "../../src/core/target.ts";
import {
  createGate,
  type Gate,
  type Outcome,
  type SpendPort,
  type VerifierPort,
  type Visit,
} from "../../src/gate.ts";
import { createMemoryLimits } from "../../src/io/limits/memory.ts";
import { createHeaderFields } from "../../src/server/header-fields.ts";

export interface Asked {
  readonly uri?: string;
  readonly ip?: string;
  readonly userAgent?: string;
  readonly method?: string;
  readonly host?: string;
  readonly headers?: readonly string[];
}

/** A request as the server would read it. */
export function requestFor(asked: Asked = {}): CrawlRequest {
  const parsed = parseTarget(asked.uri ?? "/", false);
  const found = readClientAddress(asked.ip ?? "198.51.100.10", undefined);
  if (parsed.kind !== "target" || found.kind !== "address") throw new Error("malformed in a test");
  return {
    method: asked.method ?? "GET",
    scheme: "https",
    host: asked.host ?? "docs.example.com",
    authority: asked.host ?? "docs.example.com",
    target: parsed.target,
    address: found.address,
    userAgent: asked.userAgent ?? "",
    headers: createHeaderFields(asked.headers ?? []),
  };
}

/** A gate whose verifier is told what to find; everything else is the real thing. */
export interface TestGate {
  readonly gate: Gate;
  readonly events: readonly DecisionEvent[];
  /** What was asked of the buckets, in order. */
  readonly charges: readonly Charge[];
  /** How often the network would have been asked. */
  readonly asked: () => number;
  judge(policy: Policy, request: CrawlRequest): Outcome | Promise<Outcome>;
  /** Moves the clock. */
  advance(ms: number): void;
}

export type Findings =
  | { readonly kind: "settled"; readonly verification: Verification }
  | {
      readonly kind: "open";
      readonly possible: readonly Verification[];
      readonly comes: Verification;
    };

export function testGate(findings: Findings, buckets: SpendPort = memoryLimits()): TestGate {
  const events: DecisionEvent[] = [];
  const charges: Charge[] = [];
  let nowMs = 1_700_000_000_000;
  let ids = 0;
  let asked = 0;
  const proofOf = (verification: Verification): Proof => ({
    verification,
    evidence: undefined,
    cause: undefined,
  });
  const verifier: VerifierPort = {
    check: (bot) => {
      if (bot.isDefault) return { kind: "settled", proof: proofOf("unverifiable") };
      if (findings.kind === "open") return { kind: "open", possible: findings.possible };
      return { kind: "settled", proof: proofOf(findings.verification) };
    },
    prove: async () => {
      asked += 1;
      return proofOf(findings.kind === "open" ? findings.comes : findings.verification);
    },
    botsByIp: () => [],
    warm: () => {
      asked += 1;
    },
  };
  const gate = createGate({
    verifier,
    spend: (asked, atMs) => {
      charges.push(...asked);
      return buckets(asked, atMs);
    },
    record: (event) => {
      events.push(event);
    },
    seal: async (event) => ({ ...event, receipt_id: event.id, receipt: `receipt of ${event.id}` }),
    newEventId: () => {
      ids += 1;
      return `event-${ids}`;
    },
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
  });
  return {
    gate,
    events,
    charges,
    asked: () => asked,
    judge: (policy, request) => {
      const visit: Visit = { policy, request, requestId: undefined, startedMs: nowMs };
      return gate.judge(visit);
    },
    advance: (ms) => {
      nowMs += ms;
    },
  };
}

function memoryLimits(): SpendPort {
  return createMemoryLimits().spend;
}

/** The bots of a policy: a crawler that only DNS can prove. */
export const TESTBOT = `bots:
- id: testbot
  name: Test Bot
  class: search
  match: { user_agents: [TestBot] }
  verify: { type: reverse_dns, allowed_suffixes: [.crawl.example.com] }`;
