import type { SettlementState } from "../../core/ledger/settlement.ts";
import {
  createStatement,
  type MeteredCount,
  type MeteredLine,
  type PathCount,
  type Statement,
} from "../../core/ledger/statement.ts";
import {
  type Database,
  isTrue,
  numberOf,
  numberOrNull,
  type SqlRow,
  type SqlValue,
  textOf,
} from "./database.ts";
import type { EventPlace } from "./events.ts";

/** Which metered requests. Times are RFC 3339. */
export interface StatementRequest {
  /** Inclusive. */
  readonly since: string;
  /** Exclusive; undefined for all that is there. */
  readonly until: string | undefined;
  readonly siteId: string | undefined;
}

/** A page of them, of sites that enforce, oldest first. */
export interface MeteredRequest extends StatementRequest {
  /** The last line of the page before, where there was one. */
  readonly after: EventPlace | undefined;
  readonly limit: number;
}

/** `last` is where the next page starts, undefined at the end. */
export interface MeteredPage {
  readonly lines: readonly MeteredLine[];
  readonly last: EventPlace | undefined;
}

/** Paths that a statement names. */
const TOP_PATHS = 100;

/** An event is settled or void once that is noted, whatever was missed before. */
const STATE = "coalesce(final.state, missed.state, 'held')";

const JOINED = `events
  left join settlements final on final.event_id = events.id and final.state <> 'unmatched'
  left join settlements missed on missed.event_id = events.id and missed.state = 'unmatched'`;

/** What the metered requests of a time come to. */
export function readStatement(database: Database, request: StatementRequest): Promise<Statement> {
  return database.snapshot(async () => {
    const { where, parameters } = conditionOf(request);
    const counts = await database.all(
      `select substr(ts, 1, 7) as month, bot_id, bot_operator, rule_id, price_amount,
        price_currency, ${STATE} as state, enforced, count(*) as requests
      from ${JOINED} where ${where}
      group by 1, 2, 3, 4, 5, 6, 7, 8`,
      parameters,
    );
    const paths = await database.all(
      `select path, price_amount, price_currency, ${STATE} as state, count(*) as requests
      from ${JOINED} where ${where} and enforced = $4 and path in (
        select path from events where ${where} and enforced = $4
        group by path order by count(*) desc, path limit ${TOP_PATHS})
      group by 1, 2, 3, 4`,
      [...parameters, true],
    );
    return createStatement({
      since: request.since,
      until: request.until,
      siteId: request.siteId,
      counts: counts.map(toCount),
      paths: paths.map(toPath),
    });
  });
}

/** One page of metered requests, in order of time. */
export async function readMetered(
  database: Database,
  request: MeteredRequest,
): Promise<MeteredPage> {
  const { after, limit } = request;
  const { where, parameters } = conditionOf(request);
  const rows = await database.all(
    `select ts, id, receipt_id, site_id, host, bot_id, bot_operator, rule_id, method, path, query,
      price_amount, price_currency, price_unit, ${STATE} as state, final.upstream_status as status,
      final.bytes as bytes
    from ${JOINED} where ${where} and enforced = $4 and (ts, id) > ($5, $6)
    order by ts, id limit ${limit}`,
    [...parameters, true, after?.ts ?? "", after?.id ?? ""],
  );
  const last = rows.length < limit ? undefined : rows.at(-1);
  return {
    lines: rows.map(toLine),
    last: last && { ts: textOf(last, "ts"), id: textOf(last, "id") },
  };
}

function conditionOf({ since, until, siteId }: StatementRequest): {
  readonly where: string;
  readonly parameters: readonly SqlValue[];
} {
  return {
    where: `events.action = 'allow_metered' and ts >= $1 and ($2 = '' or ts < $2)
      and ($3 = '' or site_id = $3)`,
    parameters: [since, until ?? "", siteId ?? ""],
  };
}

const STATES: readonly SettlementState[] = ["settled", "void", "unmatched"];

function stateOf({ state }: SqlRow): SettlementState {
  return STATES.find((known) => known === state) ?? "held";
}

function toCount(row: SqlRow): MeteredCount {
  return {
    month: textOf(row, "month"),
    bot_id: textOf(row, "bot_id"),
    bot_operator: textOrNull(row.bot_operator),
    rule_id: textOf(row, "rule_id"),
    price_amount: textOrNull(row.price_amount) ?? "",
    price_currency: textOrNull(row.price_currency) ?? "",
    state: stateOf(row),
    enforced: isTrue(row.enforced),
    requests: numberOf(row, "requests"),
  };
}

function toPath(row: SqlRow): PathCount {
  return {
    path: textOf(row, "path"),
    price_amount: textOrNull(row.price_amount) ?? "",
    price_currency: textOrNull(row.price_currency) ?? "",
    state: stateOf(row),
    requests: numberOf(row, "requests"),
  };
}

function toLine(row: SqlRow): MeteredLine {
  return {
    ts: textOf(row, "ts"),
    event_id: textOf(row, "id"),
    receipt_id: textOrNull(row.receipt_id),
    site_id: textOrNull(row.site_id),
    host: textOf(row, "host"),
    bot_id: textOf(row, "bot_id"),
    bot_operator: textOrNull(row.bot_operator),
    rule_id: textOf(row, "rule_id"),
    method: textOf(row, "method"),
    path: textOf(row, "path"),
    query: textOrNull(row.query),
    price_amount: textOrNull(row.price_amount) ?? "",
    price_currency: textOrNull(row.price_currency) ?? "",
    price_unit: textOrNull(row.price_unit) ?? "",
    state: stateOf(row),
    upstream_status: numberOrNull(row.status),
    bytes: numberOrNull(row.bytes),
  };
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
