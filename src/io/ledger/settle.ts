import {
  type LoggedAnswer,
  type MeteredEvent,
  type SettledState,
  type Settlement,
  settleAnswer,
} from "../../core/ledger/settlement.ts";
import {
  type Database,
  listedIn,
  numberOrNull,
  type SqlRow,
  type TableInsert,
  textOf,
} from "./database.ts";

export interface SettleRequest {
  readonly answers: readonly LoggedAnswer[];
  /** RFC 3339. */
  readonly at: string;
}

/** How many events were settled now, and how many were before. */
export interface SettleCounts {
  readonly settled: number;
  readonly void: number;
  readonly known: number;
}

const SETTLEMENTS: TableInsert = {
  table: "settlements",
  columns: [
    ["event_id", "text"],
    ["state", "text"],
    ["upstream_status", "integer"],
    ["bytes", "integer"],
    ["at", "text"],
  ],
  // Another run over the same log may have been first.
  conflict: "on conflict do nothing",
};

/** Settles the metered events that logged answers belong to. A second time changes nothing. */
export function settleAnswers(
  database: Database,
  { answers, at }: SettleRequest,
): Promise<SettleCounts> {
  return database.transaction(async () => {
    const byRequest = await readMetered(database, answers);
    const known = [...byRequest.values()].flat().filter(({ state }) => state !== undefined);
    const settlements = answers.flatMap((answer) => {
      const events = byRequest.get(answer.requestId) ?? [];
      byRequest.delete(answer.requestId);
      return settleAnswer(answer, events);
    });
    const rows = settlements.map((one) => [...valuesOf(one), at]);
    if (rows.length > 0) await database.insert(SETTLEMENTS, rows);
    const settled = settlements.filter(({ state }) => state === "settled").length;
    return { settled, void: settlements.length - settled, known: known.length };
  });
}

function valuesOf(settlement: Settlement): readonly (string | number | null)[] {
  const { event_id, state, upstream_status, bytes } = settlement;
  return [event_id, state, upstream_status, bytes];
}

/** The metered events of logged answers, by request, in order of time. */
async function readMetered(
  database: Database,
  answers: readonly LoggedAnswer[],
): Promise<Map<string, readonly MeteredEvent[]>> {
  const rows = await database.all(
    `select events.request_id as request_id, events.id as id, settlements.state as state
    from events left join settlements
      on settlements.event_id = events.id and settlements.state <> 'unmatched'
    where events.action = 'allow_metered' and events.request_id in (${listedIn(database, "$1")})
    order by events.ts, events.id`,
    [JSON.stringify(answers.map(({ requestId }) => requestId))],
  );
  return new Map(
    [...Map.groupBy(rows, (row) => textOf(row, "request_id"))].map(([requestId, group]) => [
      requestId,
      group.map(toMetered),
    ]),
  );
}

function toMetered(row: SqlRow): MeteredEvent {
  const { state } = row;
  return {
    id: textOf(row, "id"),
    state: state === "settled" || state === "void" ? state : undefined,
  };
}

/** What is noted of an event, oldest first. */
export async function readSettlements(
  database: Database,
  eventId: string,
): Promise<readonly KeptSettlement[]> {
  const rows = await database.all(
    `select event_id, state, upstream_status, bytes, at from settlements
    where event_id = $1 order by at, state desc`,
    [eventId],
  );
  return rows.map((row) => ({
    event_id: textOf(row, "event_id"),
    state: STATES.find((state) => state === row.state) ?? "void",
    upstream_status: numberOrNull(row.upstream_status),
    bytes: numberOrNull(row.bytes),
    at: textOf(row, "at"),
  }));
}

/** A settlement with the time when it was noted, in RFC 3339. */
export interface KeptSettlement extends Settlement {
  readonly at: string;
}

const STATES: readonly SettledState[] = ["settled", "void", "unmatched"];

/** What a log covers: times are RFC 3339, both inclusive. */
export interface UnmatchedRequest {
  readonly since: string;
  readonly until: string;
  readonly hosts: readonly string[];
  readonly at: string;
}

/** Notes the metered events of a time that the log of that time has no line for; tells how many. */
export function noteUnmatched(database: Database, request: UnmatchedRequest): Promise<number> {
  const { since, until, hosts, at } = request;
  return database.run(
    `insert into settlements (event_id, state, upstream_status, bytes, at)
    select id, 'unmatched', null, null, cast($4 as text) from events
    where action = 'allow_metered' and ts >= $1 and ts <= $2
      and host in (${listedIn(database, "$3")})
      and not exists (select 1 from settlements where settlements.event_id = events.id)
    on conflict do nothing`,
    [since, until, JSON.stringify(hosts), at],
  );
}
