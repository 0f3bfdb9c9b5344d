import {
  type BareItem,
  type InnerList,
  type Item,
  isInnerList,
  parseDictionary,
} from "structured-headers";
import type { HeaderFields } from "../request.ts";
import { readSignatureAgent, type SignatureAgent } from "./signature-agent.ts";

/** A signature that says it is a crawler's (`tag="web-bot-auth"`), well formed and in its time. */
export interface BotSignature {
  readonly label: string;
  /** Origin of the key directory to which the signature is attributed, such as `https://bot.example`. */
  readonly agent: string;
  readonly keyId: string;
  /** Seconds since the epoch. */
  readonly expires: number;
  readonly nonce: string | undefined;
  /** Covered components as they are written: `@authority`, `signature-agent;key="sig1"`. */
  readonly components: readonly string[];
  /** The names of the covered header fields. */
  readonly fields: readonly string[];
}

/** Why a signature proves nothing. The words are stable: they stand in events. */
export type SignatureFault =
  | "malformed"
  | "authority_uncovered"
  | "agent_missing"
  | "agent_uncovered"
  | "agent_malformed"
  | "agent_type_unsupported"
  | "agent_not_listed"
  | "parameter_missing"
  | "created_in_future"
  | "expired"
  | "too_old"
  | "component_missing"
  | "component_unsupported"
  | "algorithm_not_allowed"
  | "test_key"
  | "key_unknown"
  | "key_expired"
  | "signature_mismatch"
  | "replayed";

/** What the signature fields of a request hold. */
export type SignatureRead =
  /** No signature that claims to be a crawler's: that says nothing. */
  | { readonly kind: "absent" }
  | { readonly kind: "bad"; readonly fault: SignatureFault }
  | { readonly kind: "signed"; readonly signatures: readonly [BotSignature, ...BotSignature[]] };

/** A request holds at most this many signatures that are looked at. */
const MAX_SIGNATURES = 3;
const MAX_FIELD = 8_192;
const MAX_COMPONENTS = 32;
/** How far a signer's clock may be off. */
const SKEW_SECONDS = 30;
/** However long a signature says that it lives. */
const MAX_AGE_SECONDS = 86_400;

const ABSENT: SignatureRead = { kind: "absent" };

/** Reads the crawler's signatures of a request (RFC 9421; draft-ietf-webbotauth-httpsig-protocol). */
export function readSignatures(headers: HeaderFields, nowMs: number): SignatureRead {
  const input = headers.get("signature-input");
  if (input === undefined || !input.includes("web-bot-auth")) return ABSENT;
  const inputs = input.length <= MAX_FIELD ? parse(input) : undefined;
  if (inputs === undefined) return bad("malformed");
  const tagged = [...inputs].filter(([, member]) => member[1].get("tag") === "web-bot-auth");
  if (tagged.length === 0) return ABSENT;
  const reads = tagged
    .slice(0, MAX_SIGNATURES)
    .map(([label, member]) => readOne(label, member, headers, nowMs / 1_000));
  const [first, ...rest] = reads.filter((read) => typeof read !== "string");
  if (first !== undefined) return { kind: "signed", signatures: [first, ...rest] };
  return bad(reads.find((read) => typeof read === "string") ?? "malformed");
}

function parse(text: string): ReadonlyMap<string, Item | InnerList> | undefined {
  try {
    return parseDictionary(text);
  } catch {
    return undefined;
  }
}

function bad(fault: SignatureFault): SignatureRead {
  return { kind: "bad", fault };
}

function readOne(
  label: string,
  member: Item | InnerList,
  headers: HeaderFields,
  now: number,
): BotSignature | SignatureFault {
  if (!isInnerList(member)) return "malformed";
  const [items, parameters] = member;
  if (items.length > MAX_COMPONENTS || items.some(([name]) => typeof name !== "string")) {
    return "malformed";
  }
  const coversHost = items.some(
    ([name, own]) => (name === "@authority" || name === "@target-uri") && own.size === 0,
  );
  if (!coversHost) return "authority_uncovered";
  const agent = coveredAgent(items, headers.get("signature-agent"));
  if (agent.kind === "bad") return agent.fault;
  const keyId = parameters.get("keyid");
  const expires = parameters.get("expires");
  const fault = timeFault(parameters.get("created"), expires, now);
  if (fault !== undefined) return fault;
  if (typeof keyId !== "string" || typeof expires !== "number") return "parameter_missing";
  const nonce = parameters.get("nonce");
  return {
    label,
    agent: agent.origin,
    keyId,
    expires,
    nonce: typeof nonce === "string" ? nonce : undefined,
    components: items.map(describe),
    fields: items.map(([name]) => String(name)).filter((name) => !name.startsWith("@")),
  };
}

function timeFault(
  created: BareItem | undefined,
  expires: BareItem | undefined,
  now: number,
): SignatureFault | undefined {
  if (typeof created !== "number" || typeof expires !== "number") return "parameter_missing";
  if (created > now + SKEW_SECONDS) return "created_in_future";
  if (expires < now - SKEW_SECONDS) return "expired";
  return now - created > MAX_AGE_SECONDS + SKEW_SECONDS ? "too_old" : undefined;
}

function coveredAgent(items: readonly Item[], header: string | undefined): SignatureAgent {
  if (header === undefined) return { kind: "bad", fault: "agent_missing" };
  if (header.length > MAX_FIELD) return { kind: "bad", fault: "agent_malformed" };
  const component = items.find(([name]) => name === "signature-agent");
  if (component === undefined) return { kind: "bad", fault: "agent_uncovered" };
  const key = component[1].get("key");
  return readSignatureAgent(header, typeof key === "string" ? key : undefined);
}

function describe([name, parameters]: Item): string {
  const own = [...parameters].map(([key, value]) =>
    value === true ? `;${key}` : `;${key}="${String(value)}"`,
  );
  return `${String(name)}${own.join("")}`;
}
