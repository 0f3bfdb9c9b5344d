import { isSignatureError, type SignatureErrorCode, verifySignature } from "http-message-sig";
import type { Verification } from "../../core/bot/bot.ts";
import type { Proof } from "../../core/bot/proof.ts";
import {
  type BotSignature,
  readSignatures,
  type SignatureFault,
} from "../../core/bot/signature.ts";
import type { CrawlRequest } from "../../core/request.ts";
import type { KeySource } from "./key-source.ts";
import type { NonceStore } from "./nonces.ts";

/** What is known of a request's signature before its key is looked for. */
export type SignatureLook =
  /** Nothing that claims to be a crawler's signature. */
  | { readonly kind: "absent" }
  | { readonly kind: "settled"; readonly proof: Proof }
  | { readonly kind: "open"; readonly attributed: readonly Attributed[] };

/** A signature, and the listed directory that would hold its key. */
export interface Attributed {
  readonly signature: BotSignature;
  readonly source: KeySource;
}

/** Reads the signature of a request and attributes it to one of a bot's directories. */
export function lookAtSignature(
  request: CrawlRequest,
  directories: readonly KeySource[],
  nowMs: number,
): SignatureLook {
  const read = readSignatures(request.headers, nowMs);
  if (read.kind === "absent") return read;
  if (read.kind === "bad") return { kind: "settled", proof: refuted(read.fault) };
  const attributed = read.signatures.flatMap((signature) => {
    const source = directories.find(({ origin }) => origin === signature.agent);
    return source === undefined ? [] : [{ signature, source }];
  });
  if (attributed.length > 0) return { kind: "open", attributed };
  return { kind: "settled", proof: refuted("agent_not_listed", read.signatures[0]) };
}

/** Verifies signatures until one holds. Waits for keys until `deadline` (monotonic); never rejects. */
export async function proveSignature(
  request: CrawlRequest,
  attributed: readonly Attributed[],
  nonces: NonceStore,
  nowMs: number,
  deadline: number,
): Promise<Proof> {
  const proofs: Proof[] = [];
  for (const { signature, source } of attributed) {
    const proof = await proveOne(request, signature, source, nonces, nowMs, deadline);
    if (proof.verification === "verified") return proof;
    proofs.push(proof);
  }
  const best = proofs.find((proof) => proof.verification === "unavailable") ?? proofs[0];
  return best ?? refuted("malformed");
}

async function proveOne(
  request: CrawlRequest,
  signature: BotSignature,
  source: KeySource,
  nonces: NonceStore,
  nowMs: number,
  deadline: number,
): Promise<Proof> {
  const found = await source.find(signature.keyId, nowMs, deadline);
  if (found.kind === "refused") return refuted(found.fault, signature);
  if (found.kind === "unavailable") {
    return proofOf("unavailable", { ...facts(signature), reason: found.cause }, found.cause);
  }
  const fault = await verify(request, signature, () => found.verifier, nowMs);
  if (fault !== undefined) return refuted(fault, signature);
  const { agent, keyId, nonce, expires } = signature;
  // Kept longer than the signature lives, by more than the skew that its reading allows.
  const isNew =
    nonce === undefined || nonces.add(agent, keyId, nonce, (expires + 60) * 1_000, nowMs);
  return isNew ? proofOf("verified", facts(signature)) : refuted("replayed", signature);
}

type Resolve = Parameters<typeof verifySignature>[1]["resolveVerifier"];

/** Checks the signature over the request as the client sent it, not as the proxy asks about it. */
async function verify(
  request: CrawlRequest,
  signature: BotSignature,
  resolveVerifier: Resolve,
  nowMs: number,
): Promise<SignatureFault | undefined> {
  const { rawPath, query } = request.target;
  const target = query === "" ? rawPath : `${rawPath}?${query}`;
  const names = new Set(["signature", "signature-input", ...signature.fields]);
  const fields = [...names].flatMap((name) => {
    const value = request.headers.get(name);
    return value === undefined ? [] : [{ name, value }];
  });
  try {
    await verifySignature(
      {
        kind: "request",
        method: request.method,
        targetUri: `${request.scheme}://${request.authority}${target}`,
        requestTarget: target,
        fields,
      },
      {
        label: signature.label,
        resolveVerifier,
        // Coverage and times are judged in core; here only what was signed, and with what.
        policy: {
          algorithms: ["ed25519"],
          requiredComponents: [],
          requiredParameters: ["created", "expires", "keyid", "tag"],
          now: Math.floor(nowMs / 1_000),
          clockSkew: 60,
        },
      },
    );
    return undefined;
  } catch (error) {
    return isSignatureError(error) ? FAULTS[error.code] : "malformed";
  }
}

const FAULTS: Readonly<Record<SignatureErrorCode, SignatureFault>> = {
  MissingField: "component_missing",
  MalformedField: "malformed",
  LabelRequired: "malformed",
  LabelMismatch: "malformed",
  DuplicateLabel: "malformed",
  InvalidComponent: "malformed",
  DuplicateComponent: "malformed",
  UnsupportedFeature: "component_unsupported",
  AlgorithmMismatch: "algorithm_not_allowed",
  PolicyViolation: "algorithm_not_allowed",
  VerificationFailed: "signature_mismatch",
  ResolverFailed: "key_unknown",
};

function facts(signature: BotSignature): Readonly<Record<string, unknown>> {
  const { agent, keyId, components } = signature;
  return { agent, key_id: keyId, components };
}

function refuted(reason: SignatureFault, signature?: BotSignature): Proof {
  const known = signature === undefined ? {} : facts(signature);
  return proofOf("refuted", { ...known, reason });
}

function proofOf(
  verification: Verification,
  evidence: Readonly<Record<string, unknown>>,
  cause?: string,
): Proof {
  return { verification, evidence: { web_bot_auth: evidence }, cause };
}
