import type { Decision } from "../core/decision.ts";
import { isRefused, wouldBlock } from "../core/decision.ts";
import type { Outcome } from "../gate.ts";

// An import would read every name of the module, and for some of them load a whole fetch client.
const { STATUS_CODES } = process.getBuiltinModule("node:http");

/** An answer to a proxy, whole: the same value can be sent again to a retry. */
export interface Reply {
  readonly status: number;
  /** Names and values in turn, as `writeHead` takes them. */
  readonly headers: readonly string[];
  readonly body: string;
}

const NONE = "none";

/** Seconds after which a 429 or 503 that no bucket stands behind may be tried again. */
const RETRY_SECONDS = 30;

/** The answer that a decision gives to the proxy (contract 3). */
export function replyTo(outcome: Outcome, isHead: boolean): Reply {
  return isRefused(outcome.decision) ? refusal(outcome, isHead) : permission(outcome);
}

/** Every header, never empty: a proxy that copies an absent one forwards a literal placeholder. */
function permission(outcome: Outcome): Reply {
  const { decision, event } = outcome;
  return {
    status: 200,
    headers: [
      "X-Crawlwall-Decision",
      decisionWord(decision),
      "X-Crawlwall-Rule",
      decision.ruleId,
      "X-Crawlwall-Bot",
      outcome.bot.id,
      "X-Crawlwall-Verification",
      outcome.verification,
      "X-Crawlwall-Event",
      event.id,
      "X-Crawlwall-Receipt",
      event.receipt ?? NONE,
      "Content-Length",
      "0",
    ],
    body: "",
  };
}

function decisionWord(decision: Decision): string {
  if (!wouldBlock(decision)) return decision.action;
  return decision.action === "rate_limit_exceeded" ? "would_rate_limit" : "would_block";
}

function refusal(outcome: Outcome, isHead: boolean): Reply {
  const { decision, event } = outcome;
  const reason = decision.reason ?? decision.action;
  const reply = problem(decision.status, reason, isHead, `urn:uuid:${event.id}`);
  return { ...reply, headers: [...reply.headers, ...headersFor(decision)] };
}

function headersFor(decision: Decision): readonly string[] {
  const { rateLimited, price, terms } = decision;
  if (rateLimited !== undefined) {
    const { retryAfterSeconds, burst, rpm } = rateLimited;
    const window = Math.ceil((burst * 60) / rpm);
    return [
      "Retry-After",
      String(retryAfterSeconds),
      "RateLimit-Policy",
      `"requests";q=${burst};w=${window}`,
      "RateLimit",
      `"requests";r=0;t=${retryAfterSeconds}`,
    ];
  }
  const headers: string[] = [];
  if (decision.status === 503 || decision.status === 429) {
    headers.push("Retry-After", String(RETRY_SECONDS));
  }
  if (price !== undefined) headers.push("Crawler-Price", `${price.currency} ${price.amount}`);
  if (terms !== undefined) headers.push("Link", `<${terms}>; rel="license"`);
  return headers;
}

/** A refusal as RFC 9457 problem details; for HEAD the headers alone. */
export function problem(status: number, detail: string, isHead: boolean, instance?: string): Reply {
  const title = STATUS_CODES[status] ?? "Refused";
  const body = JSON.stringify({ type: "about:blank", title, status, detail, instance });
  const headers = [
    "Content-Type",
    "application/problem+json",
    "Cache-Control",
    "no-store",
    "X-Content-Type-Options",
    "nosniff",
    "Content-Length",
    isHead ? "0" : String(Buffer.byteLength(body)),
  ];
  return { status, headers, body: isHead ? "" : body };
}
