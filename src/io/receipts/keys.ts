import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Policy } from "../../core/policy/policy.ts";
import { readOrMake } from "../keys.ts";
import { type PublicJwk, publicJwkOf, readPublicKeys } from "./public-keys.ts";

/** A key that signs receipts. */
export interface ReceiptKey {
  /** RFC 7638 thumbprint. */
  readonly id: string;
  readonly privateKey: KeyObject;
}

/** The keys of a set of policies, or every reason why they cannot be had, a line each. */
export type LoadedKeys =
  | { readonly kind: "keys"; readonly keys: ReceiptKeys }
  | { readonly kind: "faulty"; readonly faults: readonly string[] };

export interface ReceiptKeys {
  /** The key of a policy; undefined where none of its rules asks for a receipt. */
  keyOf(policy: Policy): ReceiptKey | undefined;
  /** Every key that receipts may be checked with, those in use first, as a JWK set. */
  readonly jwks: string;
}

/** Made where a policy names no key. */
const OWN_KEY = "receipt-key.pem";

/** Public keys of all times: each one used here is put there, and published until it is removed. */
const KNOWN_KEYS = "receipt-keys";

/** A key file that cannot be used; the message names it and says what would be right. */
class KeyFileError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "KeyFileError";
  }
}

/** A new Ed25519 private key in PEM (PKCS #8). */
export function makePrivateKey(): string {
  const { privateKey } = generateKeyPairSync("ed25519");
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

/** Reads a private key that nobody else can read; throws a `KeyFileError`. */
export function readPrivateKey(file: string): ReceiptKey {
  const mode = modeOf(file);
  if ((mode & 0o077) !== 0) {
    const digits = (mode & 0o777).toString(8).padStart(4, "0");
    throw new KeyFileError(
      `\`${file}\` can be read by others (mode ${digits}); run \`chmod 600 ${file}\``,
    );
  }
  try {
    const privateKey = createPrivateKey(readFileSync(file, "utf8"));
    return { id: publicJwkOf(privateKey).kid, privateKey };
  } catch (error) {
    const message = `\`${file}\` holds no Ed25519 private key in PEM; \`crawlwall keygen\` makes one`;
    throw new KeyFileError(message, { cause: error });
  }
}

function modeOf(file: string): number {
  try {
    return statSync(file).mode;
  } catch (error) {
    const message = `\`${file}\` cannot be read; \`crawlwall keygen\` makes a key`;
    throw new KeyFileError(message, { cause: error });
  }
}

/** Reads, and where none is configured makes, the keys of the policies that ask for receipts. */
export function loadReceiptKeys(policies: readonly Policy[], dataDir: string): LoadedKeys {
  const faults: string[] = [];
  const keys = new Map<string, ReceiptKey>();
  for (const policy of policies.filter(asksForReceipts)) {
    const file = keyFileOf(policy, dataDir);
    if (keys.has(file)) continue;
    try {
      if (policy.receipts.keyFile === undefined) readOrMake(file, makePrivateKey);
      keys.set(file, readPrivateKey(file));
    } catch (error) {
      faults.push(faultOf(policy, error));
    }
  }
  const jwks = faults.length === 0 ? publish([...keys.values()], dataDir, faults) : [];
  if (faults.length > 0) return { kind: "faulty", faults };
  return {
    kind: "keys",
    keys: {
      keyOf: (policy) => keys.get(keyFileOf(policy, dataDir)),
      jwks: JSON.stringify({ keys: jwks }),
    },
  };
}

/** What is wrong with the key files that policies name, on this machine; makes nothing. */
export function findKeyFaults(policies: readonly Policy[]): readonly string[] {
  const naming = policies.filter(({ receipts }) => receipts.enabled && receipts.keyFile);
  return naming.flatMap((policy) => {
    try {
      readPrivateKey(keyFileOf(policy, ""));
      return [];
    } catch (error) {
      return [faultOf(policy, error)];
    }
  });
}

function faultOf(policy: Policy, error: unknown): string {
  return `${policy.file}: receipts.signer.key_file: ${messageOf(error)}`;
}

/** Relative to the policy's file, as any path in it. */
function keyFileOf(policy: Policy, dataDir: string): string {
  const { keyFile } = policy.receipts;
  return keyFile === undefined ? join(dataDir, OWN_KEY) : resolve(dirname(policy.file), keyFile);
}

function asksForReceipts({ receipts, rules }: Policy): boolean {
  return receipts.enabled && (receipts.keyFile !== undefined || rules.some((rule) => rule.receipt));
}

/** Puts the keys in use with those of earlier times, so that old receipts can still be checked. */
function publish(
  keys: readonly ReceiptKey[],
  dataDir: string,
  faults: string[],
): readonly PublicJwk[] {
  const folder = join(dataDir, KNOWN_KEYS);
  const published = new Map<string, PublicJwk>();
  try {
    for (const { id, privateKey } of keys) {
      const jwk = publicJwkOf(privateKey);
      published.set(id, jwk);
      mkdirSync(folder, { recursive: true, mode: 0o755 });
      const file = join(folder, `${id}.json`);
      if (!existsSync(file)) writeFileSync(file, `${JSON.stringify(jwk)}\n`, { mode: 0o644 });
    }
  } catch (error) {
    faults.push(`${folder}: ${messageOf(error)}`);
  }
  for (const jwk of readKnown(folder, faults)) published.set(jwk.kid, jwk);
  return [...published.values()];
}

function readKnown(folder: string, faults: string[]): readonly PublicJwk[] {
  return keyFilesIn(folder, faults).flatMap((name) => {
    try {
      const keys = readPublicKeys(readFileSync(join(folder, name), "utf8"));
      return [...keys.values()].map(publicJwkOf);
    } catch {
      faults.push(`${join(folder, name)}: holds no Ed25519 public key; remove it`);
      return [];
    }
  });
}

function keyFilesIn(folder: string, faults: string[]): readonly string[] {
  if (!existsSync(folder)) return [];
  try {
    return readdirSync(folder)
      .filter((name) => /\.(?:json|pem)$/.test(name))
      .sort();
  } catch (error) {
    faults.push(`${folder}: ${messageOf(error)}`);
    return [];
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
