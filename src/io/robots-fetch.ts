import { setTimeout as wait } from "node:timers/promises";
import type { RobotsFailure, RobotsFetch } from "../core/audit/fetch.ts";
import { type AuditTarget, robotsUrl } from "../core/audit/target.ts";
import { isPrivateLiteral } from "./public-lookup.ts";
import { type Exchange, type ExchangeLimits, exchange } from "./robots-exchange.ts";

/** How long a host may keep us, in milliseconds. */
export interface RobotsFetchLimits extends ExchangeLimits {
  /** All redirects, and a second try, together. */
  readonly hostMs: number;
  /** Before a second try. */
  readonly retryMs: number;
}

export const ROBOTS_FETCH_LIMITS: RobotsFetchLimits = {
  connectMs: 5000,
  headersMs: 10_000,
  wholeMs: 20_000,
  hostMs: 30_000,
  retryMs: 1000,
};

// RFC 9309 section 2.3.1.2 asks for five at least.
const MOST_REDIRECTS = 5;
const LONGEST_RETRY_AFTER_S = 10;

/**
 * Fetches a host's robots.txt once, and a second time where the first met a passing trouble. Every hop
 * is guarded: no answer can send us into a private network. Never rejects; an aborted `signal` ends it
 * at once.
 */
export async function fetchRobots(
  target: Pick<AuditTarget, "scheme" | "host" | "allowPrivate">,
  limits: RobotsFetchLimits = ROBOTS_FETCH_LIMITS,
  signal?: AbortSignal,
): Promise<RobotsFetch> {
  const journey: Journey = {
    first: new URL(robotsUrl(target)),
    allowPrivate: target.allowPrivate,
    limits,
    endsAtMs: performance.now() + limits.hostMs,
    signal,
  };
  const first = await follow(journey, 1);
  const pauseMs = pauseBeforeRetry(first, limits);
  if (pauseMs === undefined || performance.now() + pauseMs >= journey.endsAtMs) return first.result;
  await pause(pauseMs, signal);
  return signal?.aborted === true ? first.result : (await follow(journey, 2)).result;
}

interface Journey {
  readonly first: URL;
  readonly allowPrivate: boolean;
  readonly limits: RobotsFetchLimits;
  readonly endsAtMs: number;
  readonly signal: AbortSignal | undefined;
}

interface Round {
  readonly result: RobotsFetch;
  readonly retryAfter: string | undefined;
}

async function follow(journey: Journey, attempts: number): Promise<Round> {
  const redirects: string[] = [];
  let url = journey.first;
  let lastRedirect: number | undefined;
  for (;;) {
    const answer = await ask(url, journey);
    const facts = { url: journey.first.href, finalUrl: url.href, redirects, attempts };
    if (answer.kind === "failure") {
      // What the host answered is the redirect, where that led to a refused address; else nothing.
      const status = answer.fault === "blocked_address" ? lastRedirect : undefined;
      return { result: { ...facts, ...answer, status }, retryAfter: undefined };
    }
    const next = nextHop(answer, url, journey.first);
    if (next === undefined) {
      const { retryAfter, location: _, ...response } = answer;
      return { result: { ...facts, ...response }, retryAfter };
    }
    lastRedirect = answer.status;
    const stop = stopBefore(next, [journey.first.href, ...redirects]);
    if (stop !== undefined) {
      return { result: { ...facts, ...stop, status: lastRedirect }, retryAfter: undefined };
    }
    redirects.push(next.href);
    url = next;
  }
}

/** Why a redirect is not followed though its target is good. */
function stopBefore(
  next: URL,
  visited: readonly string[],
): Pick<RobotsFailure, "kind" | "fault" | "cause"> | undefined {
  if (visited.includes(next.href)) {
    return { kind: "failure", fault: "redirect_loop", cause: next.href };
  }
  return visited.length > MOST_REDIRECTS
    ? { kind: "failure", fault: "redirect_limit", cause: `more than ${MOST_REDIRECTS}` }
    : undefined;
}

function ask(url: URL, journey: Journey): Promise<Exchange> {
  const { first, allowPrivate, limits, endsAtMs, signal } = journey;
  const leftMs = Math.max(1, endsAtMs - performance.now());
  return exchange(url, {
    isPrivateAllowed: allowPrivate && isSameService(url, first),
    signal,
    connectMs: Math.min(limits.connectMs, leftMs),
    headersMs: Math.min(limits.headersMs, leftMs),
    wholeMs: Math.min(limits.wholeMs, leftMs),
  });
}

/** The host that the operator marked, on the same port: at most it moved from http to https. */
function isSameService(url: URL, first: URL): boolean {
  return url.hostname === first.hostname && url.port === first.port;
}

/** Where a response leads; undefined where it ends the journey, as a redirect without a good target does. */
function nextHop(
  { status, location }: Extract<Exchange, { kind: "response" }>,
  url: URL,
  first: URL,
): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(status)) return undefined;
  if (location === undefined || !URL.canParse(location, url)) return undefined;
  const next = new URL(location, url);
  next.hash = "";
  return isFollowed(next, first) ? next : undefined;
}

function isFollowed(url: URL, first: URL): boolean {
  if (url.protocol !== "http:" && url.protocol !== "https:") return false;
  if (url.username !== "" || url.password !== "") return false;
  // That an address is private is said before anything of its port.
  return ["", "80", "443", first.port].includes(url.port) || isPrivateLiteral(url);
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  // Rejects only when it is cut short.
  return wait(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
}

/** Undefined where another try would be of no use, or no kindness. */
function pauseBeforeRetry(round: Round, { retryMs }: RobotsFetchLimits): number | undefined {
  const askedMs = askedPause(round);
  if (askedMs === undefined) return undefined;
  // Some jitter: hosts that failed together are not asked together again.
  return Math.max(retryMs * (1 + Math.random() / 4), askedMs);
}

function askedPause({ result, retryAfter }: Round): number | undefined {
  if (result.kind === "failure") {
    return ["connect", "reset", "timeout"].includes(result.fault) ? 0 : undefined;
  }
  if (retryAfter !== undefined && [429, 503].includes(result.status)) return readPause(retryAfter);
  return [502, 503, 504].includes(result.status) ? 0 : undefined;
}

/** Milliseconds of a Retry-After that is worth waiting for. */
function readPause(retryAfter: string): number | undefined {
  const seconds = /^\d{1,2}$/.test(retryAfter) ? Number(retryAfter) : Number.POSITIVE_INFINITY;
  return seconds <= LONGEST_RETRY_AFTER_S ? seconds * 1000 : undefined;
}
