import type { LedgerQuery } from "./ledger.ts";
import type { VacuumPlace, VacuumStep } from "./vacuum.ts";

/** How long the counts of an hour are kept: over a year, so that years can be compared. */
const HOURS_KEPT_MS = 400 * 86_400_000;

/** What goes. */
export interface Retention {
  /** The age from which a site's events go, in milliseconds; undefined keeps them. */
  readonly ageOf: (siteId: string | null) => number | undefined;
  /** The age from which audits go, in milliseconds; undefined keeps them. */
  readonly auditAge: number | undefined;
  readonly nowMs: number;
}

/** How much went. */
export interface Removed {
  readonly events: number;
  readonly audits: number;
}

/**
 * Removes events by age, some thousand at a time, so that writes go on in between, then audits by
 * age and counts older than 400 days.
 */
export async function vacuumLedger(query: LedgerQuery, retention: Retention): Promise<Removed> {
  const events = await removeEvents(query, retention);
  const { auditAge, nowMs } = retention;
  const audits = auditAge === undefined ? 0 : await query("dropAudits", isoBefore(nowMs, auditAge));
  await query("dropHours", isoBefore(nowMs, HOURS_KEPT_MS));
  return { events, audits };
}

function isoBefore(nowMs: number, age: number): { readonly before: string } {
  return { before: new Date(nowMs - age).toISOString() };
}

async function removeEvents(query: LedgerQuery, { ageOf, nowMs }: Retention): Promise<number> {
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
  return removed;
}
