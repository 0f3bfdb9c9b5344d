import type { LedgerReport } from "../../core/ledger/report.ts";
import type { EventRow, StoredRow } from "../../core/ledger/row.ts";
import { type AppendResult, appendEvents } from "./append.ts";
import type { Database, TableInsert } from "./database.ts";
import { type EventsPage, type EventsRequest, readEvent, readEvents } from "./events.ts";
import { createHourlyCounts } from "./hourly.ts";
import type { KeptPolicy } from "./ledger.ts";
import type { LedgerLocation } from "./location.ts";
import { checkSchema, migrate } from "./migrations.ts";
import { type ReportRequest, readReport } from "./report.ts";
import { openSqlite } from "./sqlite.ts";

/** How a store is opened: `read` changes nothing, `change` makes nothing, `create` does both. */
export type StoreMode = "read" | "change" | "create";

export interface StoreOptions {
  readonly location: LedgerLocation;
  readonly mode: StoreMode;
  /** Names this process's chains; the same after a restart. */
  readonly instance: string;
}

/** What a ledger can be asked, by method. */
export interface StoreRequests {
  /** Only whether it opens. */
  open: undefined;
  append: { readonly rows: string; readonly retried: boolean };
  noteGap: { readonly dropped: number; readonly rejected: number };
  keepPolicies: readonly KeptPolicy[];
  events: EventsRequest;
  /** By id. */
  event: string;
  report: ReportRequest;
  close: undefined;
}

/** What it answers. */
export interface StoreReplies {
  open: undefined;
  append: AppendResult;
  noteGap: undefined;
  keepPolicies: undefined;
  events: EventsPage;
  event: StoredRow | undefined;
  report: LedgerReport;
  close: undefined;
}

/** One opened ledger. Its requests must not overlap. */
export type LedgerStore = {
  readonly [M in keyof StoreRequests]: (request: StoreRequests[M]) => Promise<StoreReplies[M]>;
};

/** Opens a ledger; throws `RefusedError` for one that will not do, `UnavailableError` for later. */
export async function openStore(options: StoreOptions): Promise<LedgerStore> {
  const database = await openDatabase(options);
  try {
    await (options.mode === "create" ? migrate(database) : checkSchema(database));
  } catch (error) {
    await database.close();
    throw error;
  }
  return storeOf(database, options.instance);
}

async function openDatabase({ location, mode }: StoreOptions): Promise<Database> {
  switch (location.kind) {
    case "sqlite":
      return openSqlite(location.path, mode);
    case "postgres":
      throw new Error("not yet");
  }
}

const GAPS: TableInsert = {
  table: "gaps",
  columns: [
    ["instance", "text"],
    ["at", "text"],
    ["dropped", "integer"],
    ["rejected", "integer"],
  ],
  conflict: "",
};

const POLICIES: TableInsert = {
  table: "policies",
  columns: [
    ["hash", "text"],
    ["site_id", "text"],
    ["document", "text"],
    ["since", "text"],
  ],
  conflict: "on conflict (hash) do nothing",
};

function storeOf(database: Database, instance: string): LedgerStore {
  const now = () => new Date().toISOString();
  const countEvents = createHourlyCounts(database);
  return {
    open: async () => undefined,
    append: async ({ rows, retried }) => {
      const events: readonly EventRow[] = JSON.parse(rows);
      return appendEvents(database, instance, events, retried, countEvents);
    },
    noteGap: async ({ dropped, rejected }) => {
      await database.insert(GAPS, [[instance, now(), dropped, rejected]]);
      return undefined;
    },
    keepPolicies: async (policies) => {
      const rows = policies.map(({ hash, siteId, document }) => [hash, siteId, document, now()]);
      await database.insert(POLICIES, rows);
      return undefined;
    },
    events: (request) => readEvents(database, request),
    event: (id) => readEvent(database, id),
    report: (request) => readReport(database, request),
    close: async () => {
      await database.close();
      return undefined;
    },
  };
}
