import { createHmac, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { LRUCache } from "lru-cache";

const SECRET_BYTES = 32;

/** Hashes remembered, so that a busy client's address is not hashed again for each request. */
const REMEMBERED_HASHES = 4096;

/**
 * A secret of this installation, made in the data directory at first use (mode 0600). Throws where the
 * file can neither be read nor made, or holds too little.
 */
export function openSecret(dataDir: string, name: string): Buffer {
  const file = join(dataDir, name);
  const text = readOrMake(file, () => randomBytes(SECRET_BYTES).toString("base64url"));
  const secret = Buffer.from(text.trim(), "base64url");
  if (secret.length < SECRET_BYTES) {
    throw new Error(`${file} holds no secret; remove it to make one`);
  }
  return secret;
}

/**
 * Reads a small file, making it (mode 0600) with `make` where it is missing, and its folder with it.
 * Throws where it can neither be read nor made.
 */
export function readOrMake(file: string, make: () => string): string {
  if (!existsSync(file)) {
    // The folder is open: the proxy reads its robots.txt files. What is secret is closed itself.
    mkdirSync(dirname(file), { recursive: true });
    try {
      // Fails where it exists: another process of this installation may have made it just now.
      writeFileSync(file, make(), { flag: "wx", mode: 0o600 });
    } catch (error) {
      if (!isAlreadyThere(error)) throw error;
    }
  }
  return readFileSync(file, "utf8");
}

function isAlreadyThere(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EEXIST";
}

/** A keyed hash of addresses: equal for equal ones, of no use without the secret. */
export function createAddressHash(secret: Buffer): (ip: string) => string {
  const remembered = new LRUCache<string, string>({ max: REMEMBERED_HASHES });
  return (ip) => {
    const known = remembered.get(ip);
    if (known !== undefined) return known;
    const hash = createHmac("sha256", secret).update(ip).digest("hex").slice(0, 32);
    remembered.set(ip, hash);
    return hash;
  };
}
