import type { Resolver } from "node:dns/promises";
import type { Proof } from "../../core/bot/proof.ts";
import { canonicalName, hasAllowedSuffix, reverseName } from "../../core/bot/reverse-name.ts";
import { parseAddress } from "../../core/cidr.ts";

/** What a lookup found, and how long that may be believed. */
export interface DnsAnswer {
  readonly proof: Proof;
  readonly ttlMs: number;
}

/** Names tried of those that have an allowed suffix: the client writes this list. */
const MAX_NAMES = 8;
const YES_MIN_MS = 5 * 60_000;
const YES_MAX_MS = 24 * 3_600_000;
const NO_MS = 5 * 60_000;
const ERROR_MS = 30_000;

/** Answers of the DNS that say no; every other error says nothing. */
const DEFINITE = new Set(["ENOTFOUND", "ENODATA"]);

/**
 * Asks for the names of an address and whether one with an allowed suffix points back to it. Never
 * rejects: a DNS that gives no answer is `unavailable`, as is a resolver that was cancelled.
 */
export async function lookUpReverse(
  resolver: Resolver,
  ip: string,
  suffixes: readonly string[],
): Promise<DnsAnswer> {
  const arpa = reverseName(ip);
  if (arpa === undefined) return no(undefined, "not an address");
  // The name below `arpa` itself: `Resolver.reverse` would read the machine's hosts file.
  const pointers = await settle(() => resolver.resolvePtr(arpa));
  if (pointers.kind === "absent") return no(undefined, "no PTR record");
  if (pointers.kind === "failed") return failed(`PTR of ${ip}: ${pointers.code}`);
  const names = pointers.value.map(canonicalName).filter((name) => name !== undefined);
  const allowed = names.filter((name) => hasAllowedSuffix(name, suffixes));
  if (allowed.length === 0) return no(names[0], "no PTR name has an allowed suffix");
  return await confirm(resolver, ip, allowed.slice(0, MAX_NAMES));
}

/** Asks for the addresses of every name: one that is broken must not hide one that is good. */
async function confirm(
  resolver: Resolver,
  ip: string,
  names: readonly string[],
): Promise<DnsAnswer> {
  const ttl = { ttl: true } as const;
  const answers = await Promise.all(
    names.map((name) =>
      settle(() =>
        ip.includes(":") ? resolver.resolve6(name, ttl) : resolver.resolve4(name, ttl),
      ),
    ),
  );
  let error: string | undefined;
  for (const [index, answer] of answers.entries()) {
    const ptr = names[index] ?? "";
    if (answer.kind === "failed") error = `address of ${ptr}: ${answer.code}`;
    if (answer.kind !== "answer") continue;
    const match = answer.value.find((record) => parseAddress(record.address)?.text === ip);
    if (match !== undefined) return yes(ptr, ip, match.ttl);
  }
  if (error !== undefined) return failed(error);
  return no(names[0], "the name does not point back to the address");
}

type Settled<T> =
  | { readonly kind: "answer"; readonly value: T }
  | { readonly kind: "absent" }
  | { readonly kind: "failed"; readonly code: string };

async function settle<T>(query: () => Promise<T>): Promise<Settled<T>> {
  try {
    return { kind: "answer", value: await query() };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    return DEFINITE.has(code) ? { kind: "absent" } : { kind: "failed", code };
  }
}

function yes(ptr: string, address: string, ttlSeconds: number): DnsAnswer {
  const ttlMs = Math.min(Math.max(ttlSeconds * 1_000, YES_MIN_MS), YES_MAX_MS);
  const evidence = { reverse_dns: { ptr, address } };
  return { proof: { verification: "verified", evidence, cause: undefined }, ttlMs };
}

function no(ptr: string | undefined, reason: string): DnsAnswer {
  const evidence = { reverse_dns: ptr === undefined ? { reason } : { ptr, reason } };
  return { proof: { verification: "refuted", evidence, cause: undefined }, ttlMs: NO_MS };
}

function failed(cause: string): DnsAnswer {
  return { proof: dnsUnavailable(cause), ttlMs: ERROR_MS };
}

/** The proof of a check that could not be completed. */
export function dnsUnavailable(cause: string): Proof {
  const evidence = { reverse_dns: { reason: cause } };
  return { verification: "unavailable", evidence, cause };
}
