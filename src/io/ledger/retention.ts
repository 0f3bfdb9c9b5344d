import type { LedgerQuery } from "./ledger.ts";
import type { VacuumPlace, VacuumStep } from "./vacuum.ts";

/** How long the counts of an hour are kept: over a year, so that years can be compared. */
const HOURS_KEPT_MS = 400 * 86_400_000;

/** Which events go. */
export interface Retention {
  /** The age from which a site's events go, in milliseconds; undefined keeps them. */
  readonly ageOf: (siteId: string | null) => number | undefined;
  readonly nowMs: number;
}

/**
 * Removes events by age, some thousand at a time, so that writes go on in between,
 * and counts older than 400 days. Resolves to how many events went.
 */
export async function vacuumLedger(query: LedgerQuery, retention: Retention): Promise<number> {
  const { ageOf, nowMs } = retention;
  const at = new Date(nowMs).toISOString();
  const before = new Map<string | null, string>();
  for (const { site_id } of await query("writers", undefined)) {
    const age = ageOf(site_id);
    if (age !== undefined) before.set(site_id, new Date(nowMs - age).toISOString());
  }
  let removed = 0;
  let after: VacuumPlace | undefined;
  do {
    const step: VacuumStep = await query("vacuumStep", { before: [...before], after, at });
    removed += step.removed;
    after = step.next;
  } while (after !== undefined);
  await query("dropHours", { before: new Date(nowMs - HOURS_KEPT_MS).toISOString() });
  return removed;
}
