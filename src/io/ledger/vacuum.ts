import { cutRows } from "../../core/ledger/cuts.ts";
import type { StoredRow } from "../../core/ledger/row.ts";
import { readCut, signChain } from "./checkpoints.ts";
import { type Database, numberOf, type SqlRow, textOf } from "./database.ts";
import { SELECTED_COLUMNS, toStoredRow } from "./events.ts";
import type { Signer } from "./signer.ts";
import { readWriters } from "./writers.ts";

/** Places that are looked at in one transaction: few enough that no write waits long. */
const PLACES_A_STEP = 2000;

/** Where a row stands in the index that is walked: by time, then by chain. */
export interface VacuumPlace {
  readonly ts: string;
  readonly writerId: string;
  readonly seq: number;
}

/** One step of removing events by age. */
export interface VacuumRequest {
  /** Before which time the events of a site go; a site that is not named keeps its events. */
  readonly before: readonly (readonly [siteId: string | null, before: string])[];
  /** Where the step before ended; undefined for the first one. */
  readonly after: VacuumPlace | undefined;
  /** When this vacuum started: it leaves one checkpoint a chain, however many steps it takes. */
  readonly at: string;
}

export interface VacuumStep {
  readonly removed: number;
  /** Where the next step starts; undefined when all is done. */
  readonly next: VacuumPlace | undefined;
}

/**
 * Looks at the oldest events after a place and removes those that are due. In the same transaction a
 * checkpoint is signed for each chain, which says what is gone: the rest stays provable.
 */
export async function vacuumStep(
  database: Database,
  signer: Signer,
  request: VacuumRequest,
): Promise<VacuumStep> {
  const before = new Map(request.before);
  const latest = [...before.values()].sort().at(-1);
  if (latest === undefined) return { removed: 0, next: undefined };
  const step = await database.transaction(async () => {
    const sites = new Map(
      (await readWriters(database)).map(({ writer_id, site_id }) => [writer_id, site_id]),
    );
    const places = await readPlaces(database, request.after, latest);
    const due = places.filter(({ ts, writerId }) => {
      const limit = before.get(sites.get(writerId) ?? null);
      return limit !== undefined && ts < limit;
    });
    for (const [writerId, group] of Map.groupBy(due, (place) => place.writerId)) {
      const seqs = group.map(({ seq }) => seq);
      await removeRows(database, signer, { writerId, seqs, at: request.at });
    }
    return {
      removed: due.length,
      next: places.length < PLACES_A_STEP ? undefined : places.at(-1),
    };
  });
  if (step.removed > 0) await shrinkFile(database);
  return step;
}

/** Pages that are given back to the system after each step: as many as a step may free, and more. */
const PAGES_A_STEP = 1000;

/** Gives freed pages of a SQLite file back to the system; PostgreSQL does that itself. */
export async function shrinkFile(database: Database): Promise<void> {
  if (database.engine === "sqlite")
    await database.execute(`pragma incremental_vacuum(${PAGES_A_STEP})`);
}

async function readPlaces(
  database: Database,
  after: VacuumPlace | undefined,
  latest: string,
): Promise<readonly VacuumPlace[]> {
  const { ts, writerId, seq } = after ?? { ts: "", writerId: "", seq: 0 };
  const rows = await database.all(
    `select ts, writer_id, seq from events
    where ts < $1 and (ts, writer_id, seq) > ($2, $3, $4)
    order by ts, writer_id, seq limit ${PLACES_A_STEP}`,
    [latest, ts, writerId, seq],
  );
  return rows.map(toPlace);
}

function toPlace(row: SqlRow): VacuumPlace {
  return { ts: textOf(row, "ts"), writerId: textOf(row, "writer_id"), seq: numberOf(row, "seq") };
}

interface Removal {
  readonly writerId: string;
  readonly seqs: readonly number[];
  readonly at: string;
}

async function removeRows(
  database: Database,
  signer: Signer,
  { writerId, seqs, at }: Removal,
): Promise<void> {
  const rows: StoredRow[] = [];
  for (const [from, to] of spansOf(seqs)) {
    const found = await database.all(
      `select ${SELECTED_COLUMNS} from events where writer_id = $1 and seq between $2 and $3`,
      [writerId, from, to],
    );
    rows.push(...found.map(toStoredRow));
    await database.run("delete from events where writer_id = $1 and seq between $2 and $3", [
      writerId,
      from,
      to,
    ]);
  }
  const known = await readCut(database, signer, writerId);
  const cut = cutRows(writerId, known, rows);
  const writer = (await readWriters(database)).find(({ writer_id }) => writer_id === writerId);
  if (writer !== undefined) await signChain(database, signer, { writer, cut, at });
}

/** Numbers as few spans without a gap. */
function spansOf(numbers: readonly number[]): readonly (readonly [from: number, to: number])[] {
  const spans: [number, number][] = [];
  for (const number of [...numbers].sort((left, right) => left - right)) {
    const last = spans.at(-1);
    if (last !== undefined && number === last[1] + 1) last[1] = number;
    else spans.push([number, number]);
  }
  return spans;
}
