import { createHash, createPublicKey, type KeyObject } from "node:crypto";
import { isObject } from "../../core/receipt-check.ts";

/** An Ed25519 public key as a JWK (RFC 8037), as a key set publishes it. */
export interface PublicJwk {
  readonly kty: "OKP";
  readonly crv: "Ed25519";
  readonly x: string;
  /** RFC 7638 thumbprint. */
  readonly kid: string;
  readonly alg: "EdDSA";
  readonly use: "sig";
}

/** Public keys by their RFC 7638 thumbprint. */
export type PublicKeys = ReadonlyMap<string, KeyObject>;

/** The JWK of a key, public or private; throws for another kind than Ed25519. */
export function publicJwkOf(key: KeyObject): PublicJwk {
  const { kty, crv, x } = createPublic(key).export({ format: "jwk" });
  if (kty !== "OKP" || crv !== "Ed25519" || x === undefined) throw new Error("no Ed25519 key");
  // RFC 7638, 3.2 with RFC 8037, A.3: these members, in this order.
  const thumbprint = createHash("sha256").update(JSON.stringify({ crv, kty, x }));
  return { kty, crv, x, kid: thumbprint.digest("base64url"), alg: "EdDSA", use: "sig" };
}

function createPublic(key: KeyObject): KeyObject {
  return key.type === "public" ? key : createPublicKey(key);
}

/**
 * The Ed25519 public keys in a text: PEM (of a private key too), a JWK or a JWK set. Throws where
 * there is none.
 */
export function readPublicKeys(text: string): PublicKeys {
  const keys = text.trimStart().startsWith("{") ? readJson(text) : [createPublicKey(text)];
  const known = keys.filter((key) => key.asymmetricKeyType === "ed25519");
  if (known.length === 0) throw new Error("no Ed25519 key");
  return new Map(known.map((key) => [publicJwkOf(key).kid, key]));
}

function readJson(text: string): readonly KeyObject[] {
  const document: unknown = JSON.parse(text);
  const members = isObject(document) && Array.isArray(document.keys) ? document.keys : [document];
  // A set may hold keys of other kinds, for other uses.
  return members
    .filter((member) => isObject(member) && member.kty === "OKP" && member.crv === "Ed25519")
    .map((member) => createPublicKey({ key: member, format: "jwk" }));
}
