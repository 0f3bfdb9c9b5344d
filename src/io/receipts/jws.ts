import { RECEIPT_TYPE, type ReceiptClaims } from "../../core/receipt.ts";
import { isObject, type JsonObject, type ReadReceipt } from "../../core/receipt-check.ts";
import type { ReceiptKey } from "./keys.ts";
import type { PublicKeys } from "./public-keys.ts";

/** Signs a receipt: JWS compact (RFC 7515), EdDSA. */
export async function signReceipt(claims: ReceiptClaims, key: ReceiptKey): Promise<string> {
  // Loaded by those alone whose rules ask for a receipt.
  const { CompactSign } = await import("jose");
  return new CompactSign(Buffer.from(JSON.stringify(claims)))
    .setProtectedHeader({ alg: "EdDSA", typ: RECEIPT_TYPE, kid: key.id })
    .sign(key.privateKey);
}

/** Reads a receipt and checks its signature with the key that it names, if that is known. */
export async function readReceipt(jws: string, keys: PublicKeys): Promise<ReadReceipt> {
  const parts = jws.split(".");
  if (parts.length !== 3 || !parts.every(isBase64Url)) return malformed("is no compact JWS");
  const header = parseObject(parts[0] ?? "");
  const claims = parseObject(parts[1] ?? "");
  const keyId = header?.typ === RECEIPT_TYPE ? header.kid : undefined;
  if (typeof keyId !== "string" || claims === undefined) {
    return malformed("is no receipt of CrawlWall");
  }
  const key = keys.get(keyId);
  if (key === undefined) return { kind: "unknown_key", keyId, claims };
  const { compactVerify } = await import("jose");
  try {
    await compactVerify(jws, key, { algorithms: ["EdDSA"] });
    return { kind: "signed", claims };
  } catch {
    return { kind: "bad_signature", claims };
  }
}

/** One spelling for each value, so that no receipt has two. */
function isBase64Url(part: string): boolean {
  return Buffer.from(part, "base64url").toString("base64url") === part;
}

function parseObject(part: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString());
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function malformed(cause: string): ReadReceipt {
  return { kind: "malformed", cause };
}
