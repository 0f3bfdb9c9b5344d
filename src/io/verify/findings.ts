import type { Verification } from "../../core/bot/bot.ts";
import { combineVerifications, type Evidence, type Proof } from "../../core/bot/proof.ts";
import { type Address, parseAddress } from "../../core/cidr.ts";
import type { CrawlRequest } from "../../core/request.ts";
import type { ReverseDns } from "./dns.ts";
import { holdsAddress, lookUpLists } from "./list-lookup.ts";
import type { Means, Plan } from "./plan.ts";
import { type Attributed, lookAtSignature } from "./signatures.ts";

/** Something that only the network can answer. */
export type Pending =
  | { readonly kind: "reverse_dns"; readonly suffixes: readonly string[] }
  | { readonly kind: "web_bot_auth"; readonly attributed: readonly Attributed[] };

/** What a bot's verifiers say without waiting: of those asked, and which have yet to be asked. */
export interface Findings {
  readonly proof: Proof;
  readonly pending: readonly Pending[];
}

type Finding =
  | { readonly kind: "settled"; readonly proof: Proof }
  | { readonly kind: "open"; readonly pending: Pending };

/** The proof of nothing, for or against. */
export const UNVERIFIABLE: Proof = {
  verification: "unverifiable",
  evidence: undefined,
  cause: undefined,
};

const NOTHING: Finding = { kind: "settled", proof: UNVERIFIABLE };

/** Asks every verifier of a plan that can answer from memory, until one proves the claim. */
export function look(plan: Plan, dns: ReverseDns, request: CrawlRequest, nowMs: number): Findings {
  const address = parseAddress(request.address.ip);
  const pending: Pending[] = [];
  let proof = UNVERIFIABLE;
  for (const means of plan.means) {
    const finding = lookAt(means, dns, request, address, nowMs);
    if (finding.kind === "open") {
      pending.push(finding.pending);
      continue;
    }
    proof = mergeProofs(proof, finding.proof);
    if (proof.verification === "verified") return { proof, pending: [] };
  }
  return { proof, pending };
}

function lookAt(
  means: Means,
  dns: ReverseDns,
  request: CrawlRequest,
  address: Address | undefined,
  nowMs: number,
): Finding {
  if (means.kind === "web_bot_auth") {
    const seen = lookAtSignature(request, means.directories, nowMs);
    if (seen.kind === "absent") return NOTHING;
    if (seen.kind === "settled") return seen;
    return { kind: "open", pending: { kind: means.kind, attributed: seen.attributed } };
  }
  if (address === undefined) return NOTHING;
  return lookAtAddress(means, dns, address, request.address.isPublic, nowMs);
}

function lookAtAddress(
  means: Exclude<Means, { readonly kind: "web_bot_auth" }>,
  dns: ReverseDns,
  address: Address,
  isPublic: boolean,
  nowMs: number,
): Finding {
  if (means.kind === "static_ranges") {
    const prefix = means.set.find(address);
    if (prefix !== undefined) return settled("verified", { static_ranges: { prefix } });
    return isPublic ? settled("refuted", { static_ranges: { reason: "not listed" } }) : NOTHING;
  }
  // An address that is not public proves nothing by a list or the DNS: anybody's network has it.
  if (!isPublic) return NOTHING;
  if (means.kind === "ip_ranges") {
    return { kind: "settled", proof: lookUpLists(means, address, nowMs) };
  }
  const { suffixes } = means;
  const proof = dns.known(address.text, suffixes, nowMs);
  if (proof !== undefined) return { kind: "settled", proof };
  return { kind: "open", pending: { kind: means.kind, suffixes } };
}

function settled(verification: Verification, evidence: Evidence): Finding {
  return { kind: "settled", proof: { verification, evidence, cause: undefined } };
}

/** Whether one of a plan's lists holds the address, whatever the client claims to be. */
export function isListed(plan: Plan, address: Address, isPublic: boolean, nowMs: number): boolean {
  return plan.means.some((means) => {
    if (means.kind === "static_ranges") return means.set.find(address) !== undefined;
    return means.kind === "ip_ranges" && isPublic && holdsAddress(means, address, nowMs);
  });
}

/** Two proofs as one (contract 1). Of two by verifiers of one kind the deciding evidence stays. */
export function mergeProofs(left: Proof, right: Proof): Proof {
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

const OPEN: readonly Verification[] = ["verified", "refuted", "unavailable"];

/** The outcomes that could still come of asking, given what the other verifiers said. */
export function possibleOutcomes(known: Verification): readonly Verification[] {
  return known === "unavailable" ? ["verified", "unavailable"] : OPEN;
}
