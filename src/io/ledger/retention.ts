import type { LedgerQuery } from "./ledger.ts";

/** How long the counts of an hour are kept: over a year, so that years can be compared. */
const HOURS_KEPT_MS = 400 * 86_400_000;

/** Which events go. */
export interface Retention {
  /** The age from which a site's events go, in milliseconds; undefined keeps them. */
  readonly ageOf: (siteId: string | null) => number | undefined;
  readonly nowMs: number;
}

/**
 * Removes events by age, chain by chain and some thousand at a time, so that writes go on in between,
 * and counts older than 400 days. Resolves to how many events went.
 */
export async function vacuumLedger(query: LedgerQuery, retention: Retention): Promise<number> {
  const { ageOf, nowMs } = retention;
  const at = new Date(nowMs).toISOString();
  let removed = 0;
  for (const { writer_id, site_id } of await query("writers", undefined)) {
    const age = ageOf(site_id);
    if (age === undefined) continue;
    const request = { writerId: writer_id, before: new Date(nowMs - age).toISOString(), at };
    for (;;) {
      const step = await query("vacuumChain", request);
      removed += step;
      if (step === 0) break;
    }
  }
  await query("dropHours", { before: new Date(nowMs - HOURS_KEPT_MS).toISOString() });
  return removed;
}
