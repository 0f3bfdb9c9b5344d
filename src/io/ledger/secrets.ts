import { randomBytes } from "node:crypto";
import { closeSync, mkdirSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";

/**
 * Reads a small file of the data directory, making it (mode 0600) with `make` when it is missing.
 * Of two processes that make it at once, one wins and both read what it wrote.
 */
export function readOrMake(dataDir: string, name: string, make: () => string): string {
  const known = readIfThere(dataDir, name);
  if (known !== undefined) return known;
  const path = join(dataDir, name);
  mkdirSync(dataDir, { recursive: true });
  try {
    const file = openSync(path, "wx", 0o600);
    writeSync(file, make());
    closeSync(file);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
  return readFileSync(path, "utf8");
}

/** Reads a small file of the data directory; undefined where there is none. */
export function readIfThere(dataDir: string, name: string): string | undefined {
  try {
    return readFileSync(join(dataDir, name), "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** The name of this installation in the ledger: 16 hex digits, kept in the data directory. */
export function readInstance(dataDir: string): string {
  return readOrMake(dataDir, "ledger-instance", () => randomBytes(8).toString("hex")).trim();
}
