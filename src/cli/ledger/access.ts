import type { Command } from "commander";
import { parseDuration } from "../../core/duration.ts";
import { RefusedError, UnavailableError } from "../../io/ledger/database.ts";
import type { LedgerQuery } from "../../io/ledger/ledger.ts";
import { openLedgerReader } from "../../io/ledger/open.ts";
import { CannotRun } from "../exit.ts";
import { flag } from "../flags.ts";

/** Where a command finds the ledger. */
export interface LedgerPlace {
  readonly dataDir: string;
  readonly ledger?: string;
}

/** The flags that name a ledger, the same as of `serve`. */
export function withLedgerFlags(command: Command): Command {
  return command
    .addOption(flag("--ledger <url>", "sqlite:PATH or postgres://… (default: in the data dir)"))
    .addOption(flag("--data-dir <dir>", "where the service keeps its data", "data"));
}

/** Opens the ledger for the time of a command's work. A ledger that is not there is never made. */
export async function withLedger<T>(
  place: LedgerPlace,
  mode: "read" | "change",
  work: (query: LedgerQuery) => Promise<T>,
): Promise<T> {
  try {
    const reader = await openLedgerReader(place.ledger ?? "sqlite:", place.dataDir, mode);
    if (reader === undefined) throw new CannotRun(["`--ledger` is `off`; name a ledger"]);
    try {
      return await work(reader.query);
    } finally {
      await reader.close();
    }
  } catch (error) {
    if (error instanceof RefusedError) throw new CannotRun([error.message], { cause: error });
    if (error instanceof UnavailableError) {
      throw new CannotRun([`--ledger: cannot be reached: ${error.message}`], { cause: error });
    }
    throw error;
  }
}

/**
 * A time as a command takes it, in RFC 3339: a duration before now (`24h`, `30d`), or a date or time
 * (`2026-11-30`, `2026-11-30T08:00:00Z`).
 */
export function readTime(flagName: string, text: string, nowMs: number): string {
  const ago = parseDuration(text);
  if (ago !== undefined) return new Date(nowMs - ago).toISOString();
  const at = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) {
    throw new CannotRun([
      `${flagName}: \`${text}\` is neither a duration nor a time; write \`24h\` or \`2026-11-30T08:00:00Z\``,
    ]);
  }
  return new Date(at).toISOString();
}
