import { createHash } from "node:crypto";

/** Remembers the nonces of accepted signatures, so that none is accepted twice. */
export interface NonceStore {
  /** Keeps a nonce until it expires (milliseconds); false when it was there already. */
  add(agent: string, keyId: string, nonce: string, expiresAtMs: number, nowMs: number): boolean;
}

/** Only whoever holds a listed key can fill this. When it is full, the oldest nonce is forgotten. */
const MAX_NONCES = 131_072;

/** Makes an empty store, of this process. */
export function createNonceStore(): NonceStore {
  const expiries = new Map<string, number>();
  return {
    add: (agent, keyId, nonce, expiresAtMs, nowMs) => {
      const text = JSON.stringify([agent, keyId, nonce]);
      const key = createHash("sha256").update(text).digest("base64").slice(0, 24);
      const known = expiries.get(key);
      if (known !== undefined && known >= nowMs) return false;
      expiries.delete(key);
      if (expiries.size >= MAX_NONCES) dropOldest(expiries);
      expiries.set(key, expiresAtMs);
      return true;
    },
  };
}

function dropOldest(expiries: Map<string, number>): void {
  for (const key of expiries.keys()) {
    expiries.delete(key);
    return;
  }
}
