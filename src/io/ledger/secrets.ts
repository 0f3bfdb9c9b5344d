import { randomBytes } from "node:crypto";
import { closeSync, mkdirSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";

/**
 * Reads a small file of the data directory, making it (mode 0600) with `make` when it is missing.
 * Of two processes that make it at once, one wins and both read what it wrote.
 */
export function readOrMake(dataDir: string, name: string, make: () => string): string {
  const path = join(dataDir, name);
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
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

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

/** The name of this installation in the ledger: 16 hex digits, kept in the data directory. */
export function readInstance(dataDir: string): string {
  return readOrMake(dataDir, "ledger-instance", () => randomBytes(8).toString("hex")).trim();
}
