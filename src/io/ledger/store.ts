import type { KeptAudit, StoredAudit } from "../../core/audit/stored.ts";
import type { LedgerReport } from "../../core/ledger/report.ts";
import type { EventRow, StoredRow } from "../../core/ledger/row.ts";
import type { Statement } from "../../core/ledger/statement.ts";
import { type AppendResult, appendEvents } from "./append.ts";
import { type AuditsRequest, dropAudits, keepAudit, readAudits } from "./audits.ts";
import { signGrownChains } from "./checkpoints.ts";
import { type Database, type TableInsert, textOf } from "./database.ts";
import { type EventsPage, type EventsRequest, readEvent, readEvents } from "./events.ts";
import { createHourlyCounts, dropHours } from "./hourly.ts";
import type { KeptPolicy } from "./ledger.ts";
import type { LedgerLocation } from "./location.ts";
import { checkSchema, migrate } from "./migrations.ts";
import { type ReportRequest, readReport } from "./report.ts";
import {
  type KeptSettlement,
  noteUnmatched,
  readSettlements,
  type SettleCounts,
  type SettleRequest,
  settleAnswers,
  type UnmatchedRequest,
} from "./settle.ts";
import { createSigner, type Signer } from "./signer.ts";
import { openSqlite } from "./sqlite.ts";
import {
  type MeteredPage,
  type MeteredRequest,
  readMetered,
  readStatement,
  type StatementRequest,
} from "./statement.ts";
import { type VacuumRequest, type VacuumStep, vacuumStep } from "./vacuum.ts";
import { type VerifyRequest, type VerifyResult, verifyLedger } from "./verify.ts";
import { readWriters, type Writer } from "./writers.ts";

/** How a store is opened: `read` changes nothing, `change` makes nothing, `create` does both. */
export type StoreMode = "read" | "change" | "create";

export interface StoreOptions {
  readonly location: LedgerLocation;
  readonly mode: StoreMode;
  /** Names this installation's chains; the same after a restart. */
  readonly instance: string;
  /** Signs its checkpoints: an Ed25519 key in PEM. Reading needs none. */
  readonly signingKey: string | undefined;
}

/** What a ledger can be asked, by method. */
export interface StoreRequests {
  /** Only whether it opens. */
  open: undefined;
  append: { readonly rows: string; readonly retried: boolean };
  noteGap: { readonly dropped: number; readonly rejected: number };
  keepPolicies: readonly KeptPolicy[];
  /** Signs this installation's chains where they grew. */
  sign: undefined;
  writers: undefined;
  vacuumStep: VacuumRequest;
  /** Removes counts of hours before one. */
  dropHours: { readonly before: string };
  /** Removes audits from before a time. */
  dropAudits: { readonly before: string };
  events: EventsRequest;
  /** By id. */
  event: string;
  /** By hash. */
  policy: string;
  report: ReportRequest;
  verify: VerifyRequest;
  settle: SettleRequest;
  noteUnmatched: UnmatchedRequest;
  /** Of an event, by id. */
  settlements: string;
  statement: StatementRequest;
  /** Metered requests, one by one. */
  metered: MeteredRequest;
  keepAudit: KeptAudit;
  audits: AuditsRequest;
  close: undefined;
}

/** What it answers. */
export interface StoreReplies {
  open: undefined;
  append: AppendResult;
  noteGap: undefined;
  keepPolicies: undefined;
  sign: undefined;
  writers: readonly Writer[];
  vacuumStep: VacuumStep;
  dropHours: undefined;
  /** How many. */
  dropAudits: number;
  events: EventsPage;
  event: StoredRow | undefined;
  policy: string | undefined;
  report: LedgerReport;
  verify: VerifyResult;
  settle: SettleCounts;
  /** How many. */
  noteUnmatched: number;
  settlements: readonly KeptSettlement[];
  statement: Statement;
  metered: MeteredPage;
  keepAudit: undefined;
  /** Oldest first. */
  audits: readonly StoredAudit[];
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
    const { signingKey } = options;
    const signer = signingKey === undefined ? undefined : createSigner(signingKey);
    return storeOf(database, options.instance, signer);
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function openDatabase({ location, mode }: StoreOptions): Promise<Database> {
  switch (location.kind) {
    case "sqlite":
      return openSqlite(location.path, mode);
    case "postgres":
      // The driver is loaded by those alone who use it.
      return (await import("./postgres.ts")).openPostgres(location.url);
  }
}

function storeOf(database: Database, instance: string, signer: Signer | undefined): LedgerStore {
  return {
    ...writingOf(database, instance),
    ...keepingOf(database, instance, signer),
    writers: () => readWriters(database),
    events: (request) => readEvents(database, request),
    event: (id) => readEvent(database, id),
    policy: (hash) => readPolicy(database, hash),
    report: (request) => readReport(database, request),
    verify: (request) => verifyLedger(database, request),
    settle: (request) => settleAnswers(database, request),
    noteUnmatched: (request) => noteUnmatched(database, request),
    settlements: (id) => readSettlements(database, id),
    statement: (request) => readStatement(database, request),
    metered: (request) => readMetered(database, request),
    keepAudit: async (audit) => {
      await keepAudit(database, audit);
      return undefined;
    },
    audits: (request) => readAudits(database, request),
    dropAudits: ({ before }) => dropAudits(database, before),
    open: async () => undefined,
    close: async () => {
      await database.close();
      return undefined;
    },
  };
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

function writingOf(
  database: Database,
  instance: string,
): Pick<LedgerStore, "append" | "noteGap" | "keepPolicies"> {
  const countEvents = createHourlyCounts(database);
  return {
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
      if (rows.length > 0) await database.insert(POLICIES, rows);
      return undefined;
    },
  };
}

function keepingOf(
  database: Database,
  instance: string,
  signer: Signer | undefined,
): Pick<LedgerStore, "sign" | "vacuumStep" | "dropHours"> {
  const needSigner = (): Signer => {
    if (signer === undefined) throw new Error("the ledger was opened without its signing key");
    return signer;
  };
  return {
    sign: async () => {
      await signGrownChains(database, needSigner(), instance, now());
      return undefined;
    },
    vacuumStep: (request) => vacuumStep(database, needSigner(), request),
    dropHours: async ({ before }) => {
      await dropHours(database, before);
      return undefined;
    },
  };
}

async function readPolicy(database: Database, hash: string): Promise<string | undefined> {
  const [row] = await database.all("select document from policies where hash = $1", [hash]);
  return row && textOf(row, "document");
}

function now(): string {
  return new Date().toISOString();
}
