import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
} from "node:crypto";
import { join } from "node:path";
import { canonicalJson } from "../../core/canonical-json.ts";
import type { Cut } from "../../core/ledger/cuts.ts";
import { readOrMake } from "../keys.ts";
import { readIfThere } from "./secrets.ts";

const CHECKPOINT_TYPE = "crawlwall-checkpoint+jwt";

/** What a checkpoint says of one writer's chain. */
export interface Checkpoint {
  readonly writer_id: string;
  /** The last row at that time. */
  readonly seq: number;
  readonly hash: string;
  /** Rows that were removed by age. */
  readonly cuts: readonly Cut[];
  /** How many of those were edited or moved before. */
  readonly cut_faults: number;
  /** RFC 3339. */
  readonly at: string;
}

/** This installation's key, to sign checkpoints and to know them again. */
export interface Signer {
  /** How every checkpoint of this key starts. */
  readonly prefix: string;
  sign(checkpoint: Checkpoint): Promise<string>;
  /** What a checkpoint says; undefined where this key did not sign it. */
  read(jws: string): Promise<Checkpoint | undefined>;
}

/** A checkpoint as it was found: to be believed only when `signed`. */
export type ReadCheckpoint =
  | { readonly kind: "signed"; readonly checkpoint: Checkpoint }
  | { readonly kind: "unknown_key"; readonly keyId: string }
  | { readonly kind: "broken" };

/** Public keys by their RFC 7638 thumbprint. */
export type PublicKeys = ReadonlyMap<string, KeyObject>;

const KEY_FILE = "ledger-key.pem";

/** This installation's Ed25519 key in PEM, made in the data directory (mode 0600) at first use. */
export function readSigningKey(dataDir: string): string {
  return readOrMake(join(dataDir, KEY_FILE), () =>
    generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  );
}

/** Makes the signer for a private key in PEM. */
export function createSigner(privatePem: string): Signer {
  const key = createPrivateKey(privatePem);
  const keys = readPublicKeys([privatePem]);
  const [kid = ""] = keys.keys();
  const header = { alg: "EdDSA", typ: CHECKPOINT_TYPE, kid };
  return {
    prefix: `${Buffer.from(JSON.stringify(header)).toString("base64url")}.`,
    sign: async (checkpoint) => {
      // Loaded when the first chain is signed: it takes more memory than all the rest of the ledger.
      const { CompactSign } = await import("jose");
      return new CompactSign(Buffer.from(JSON.stringify(checkpoint)))
        .setProtectedHeader(header)
        .sign(key);
    },
    read: async (jws) => {
      const read = await readCheckpoint(jws, keys);
      return read.kind === "signed" ? read.checkpoint : undefined;
    },
  };
}

/** Reads Ed25519 keys, each as PEM (also that of a private key) or as a JWK. Throws for other texts. */
export function readPublicKeys(texts: readonly string[]): PublicKeys {
  const keys = new Map<string, KeyObject>();
  for (const text of texts) {
    const key = text.trimStart().startsWith("{")
      ? createPublicKey({ key: JSON.parse(text), format: "jwk" })
      : createPublicKey(text);
    const { crv, kty, x } = key.export({ format: "jwk" });
    // RFC 7638: the required members in canonical form.
    keys.set(hash("sha256", canonicalJson({ crv, kty, x }), "base64url"), key);
  }
  return keys;
}

/** Checks a checkpoint's signature and reads what it says. */
export async function readCheckpoint(jws: string, keys: PublicKeys): Promise<ReadCheckpoint> {
  const { compactVerify } = await import("jose");
  let keyId: string | undefined;
  try {
    const { payload } = await compactVerify(
      jws,
      ({ kid = "" }) => {
        const key = keys.get(kid);
        if (key === undefined) keyId = kid;
        return key ?? Promise.reject(new Error("unknown key"));
      },
      { algorithms: ["EdDSA"] },
    );
    const checkpoint: Checkpoint = JSON.parse(Buffer.from(payload).toString());
    return { kind: "signed", checkpoint };
  } catch {
    return keyId === undefined ? { kind: "broken" } : { kind: "unknown_key", keyId };
  }
}

/** The key that an earlier `readSigningKey` made; undefined where there is none yet. */
export function readKnownKey(dataDir: string): string | undefined {
  return readIfThere(dataDir, KEY_FILE);
}

/** The public half of a key in PEM, as a JWK. */
export function publicJwkOf(pem: string): Readonly<Record<string, unknown>> {
  return { ...createPublicKey(pem).export({ format: "jwk" }) };
}
