import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readOrMake } from "../keys.ts";

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
  const file = join(dataDir, "ledger-instance");
  return readOrMake(file, () => randomBytes(8).toString("hex")).trim();
}
