import type { IncomingMessage } from "node:http";
import type { AddressSet } from "../core/cidr.ts";
import type { Policy } from "../core/policy/policy.ts";
import type { Gate, Outcome, RuntimeRule, UnjudgedVisit } from "../gate.ts";
import { type Forwarded, readForwarded } from "./forwarded.ts";
import { createHeaderFields } from "./header-fields.ts";
import { createReplays } from "./replay.ts";
import { problem, type Reply, replyTo } from "./reply.ts";
import { normaliseHost, readVisitor, subjectOf } from "./visitor.ts";

/** What the endpoint that proxies ask needs. */
export interface AuthzOptions {
  readonly gate: Gate;
  /** The site that speaks for a normalised host, of the policies in force at this moment. */
  readonly findSite: (host: string) => Policy | undefined;
  readonly trustedProxies: AddressSet | undefined;
  readonly trustRequestId: boolean;
  readonly nowMs: () => number;
  /** Told of each fault of the set-up: the proxy does not send what it must. */
  readonly onMisconfigured: (cause: string) => void;
}

/**
 * Answers a proxy's question about a visitor, which came at `startedMs` of the monotonic clock;
 * synchronous where the gate is.
 */
export type Authz = (message: IncomingMessage, startedMs: number) => Reply | Promise<Reply>;

/** Makes the endpoint for proxies that send the X-Forwarded family: Caddy, Traefik, HAProxy. */
export function createForwardAuth(options: AuthzOptions): Authz {
  const { trustRequestId, nowMs } = options;
  const replays = createReplays();
  return (message, startedMs) => {
    const read = readForwarded(message.rawHeaders, trustRequestId);
    if (read.kind === "misconfigured") {
      options.onMisconfigured(read.cause);
      return problem(400, "misconfigured_proxy", false);
    }
    const { forwarded } = read;
    if (forwarded.requestId === undefined) return answer(options, message, forwarded, startedMs);
    const place = replays.placeOf(forwarded, nowMs());
    const earlier = replays.find(place);
    if (earlier !== undefined) return earlier;
    const reply = answer(options, message, forwarded, startedMs);
    replays.keep(place, reply);
    return reply;
  };
}

function answer(
  options: AuthzOptions,
  message: IncomingMessage,
  forwarded: Forwarded,
  startedMs: number,
): Reply | Promise<Reply> {
  const isHead = forwarded.method === "HEAD";
  const outcome = judge(options, message, forwarded, startedMs);
  if (outcome instanceof Promise) return outcome.then((settled) => replyTo(settled, isHead));
  return replyTo(outcome, isHead);
}

function judge(
  options: AuthzOptions,
  message: IncomingMessage,
  forwarded: Forwarded,
  startedMs: number,
): Outcome | Promise<Outcome> {
  const { gate, trustedProxies } = options;
  const host = normaliseHost(forwarded.host);
  const policy = options.findSite(host);
  const beforehand = policy === undefined ? UNKNOWN_HOST : settledBeforehand(forwarded);
  if (policy === undefined || beforehand !== undefined) {
    const subject = subjectOf(forwarded, host, trustedProxies);
    const { requestId } = forwarded;
    return settle(gate, { policy, subject, requestId, startedMs }, beforehand ?? UNKNOWN_HOST);
  }
  const headers = createHeaderFields(message.rawHeaders);
  const visitor = readVisitor(forwarded, host, headers, policy, trustedProxies);
  const { requestId } = forwarded;
  if (visitor.kind === "judged") {
    return gate.judge({ policy, request: visitor.request, requestId, startedMs });
  }
  const subject = subjectOf(forwarded, host, trustedProxies);
  const { status, reason } = visitor;
  return gate.refuse(
    { policy, subject, requestId, startedMs },
    "runtime.malformed_request",
    status,
    reason,
  );
}

function settle(gate: Gate, visit: UnjudgedVisit, beforehand: Beforehand): Outcome {
  if (beforehand.kind === "admit") return gate.admit(visit, beforehand.rule);
  return gate.refuse(visit, beforehand.rule, beforehand.status, beforehand.reason);
}

type Beforehand =
  | { readonly kind: "admit"; readonly rule: RuntimeRule }
  | {
      readonly kind: "refuse";
      readonly rule: RuntimeRule;
      readonly status: number;
      readonly reason: string;
    };

/** No site speaks for the host: misdirected (RFC 9110, 15.5.20), never let through. */
const UNKNOWN_HOST: Beforehand = {
  kind: "refuse",
  rule: "runtime.unknown_host",
  status: 421,
  reason: "unknown_host",
};

/** What no rule is asked about: robots.txt is for everybody, early data for nobody yet (RFC 8470, 5.2). */
function settledBeforehand(forwarded: Forwarded): Beforehand | undefined {
  const isRead = forwarded.method === "GET" || forwarded.method === "HEAD";
  if (isRead && forwarded.uri === "/robots.txt") {
    return { kind: "admit", rule: "runtime.robots_txt" };
  }
  if (!forwarded.isEarlyData) return undefined;
  return { kind: "refuse", rule: "runtime.early_data", status: 425, reason: "early_data" };
}
