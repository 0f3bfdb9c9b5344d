import { existsSync } from "node:fs";
import type { KeptAudit } from "../../core/audit/stored.ts";
import { RefusedError, UnavailableError } from "../../io/ledger/database.ts";
import { parseLedgerUrl } from "../../io/ledger/location.ts";
import { openLedgerReader } from "../../io/ledger/open.ts";
import { CannotRun, note } from "../exit.ts";
import type { LedgerPlace } from "../ledger/access.ts";

/** Keeps what audits find. */
export interface AuditStore {
  /** Never rejects: what cannot be kept is told, and printed all the same. */
  keep(audit: KeptAudit): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens the ledger to keep audits in, where there is one: it is never made for them. Throws `CannotRun`
 * for a ledger that was named and will not do.
 */
export async function openAuditStore(place: LedgerPlace): Promise<AuditStore | undefined> {
  try {
    if (place.ledger === undefined && !isThere(place.dataDir)) return undefined;
    const reader = await openLedgerReader(place.ledger ?? "sqlite:", place.dataDir, "change");
    if (reader === undefined) return undefined;
    return {
      keep: async (audit) => {
        try {
          await reader.query("keepAudit", audit);
        } catch (error) {
          const cause = error instanceof Error ? error.message : String(error);
          note(`${audit.records[0]?.host}: not kept in the ledger: ${cause}`);
        }
      },
      close: () => reader.close(),
    };
  } catch (error) {
    if (error instanceof RefusedError || error instanceof UnavailableError) {
      throw new CannotRun([error.message], { cause: error });
    }
    throw error;
  }
}

function isThere(dataDir: string): boolean {
  const location = parseLedgerUrl("sqlite:", dataDir);
  return location?.kind === "sqlite" && existsSync(location.path);
}
