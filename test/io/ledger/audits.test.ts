import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { auditHost, bodyHash } from "../../../src/core/audit/crawl-delay.ts";
import type { RobotsFetch } from "../../../src/core/audit/fetch.ts";
import type { KeptAudit } from "../../../src/core/audit/stored.ts";
import type { AuditTarget } from "../../../src/core/audit/target.ts";
import { vacuumLedger } from "../../../src/io/ledger/retention.ts";
import { ask, open } from "./contract.ts";
import { type PostgresServer, postgresPrograms, startPostgres } from "./postgres-server.ts";

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "crawlwall-audits-"));
});

afterEach(() => {
  rmSync(dataDir, { recursive: true });
});

const target: AuditTarget = {
  scheme: "https",
  host: "www.example.com",
  rateLimitRequired: true,
  allowPrivate: false,
  agents: [
    { names: ["bingbot"], fallback: "rfc9309" },
    { names: ["*"], fallback: "rfc9309" },
  ],
};

const url = "https://www.example.com/robots.txt";
const facts = { url, finalUrl: url, redirects: ["https://a.example/"], attempts: 2 };

function auditOf(fetched: RobotsFetch, atMs: number, host = target.host): KeptAudit {
  const records = auditHost({ ...target, host }, fetched, atMs);
  const sha256 = bodyHash(fetched);
  return {
    records,
    body:
      fetched.kind === "failure" || sha256 === undefined
        ? undefined
        : { sha256, bytes: fetched.body },
  };
}

function serves(body: Uint8Array): RobotsFetch {
  return {
    kind: "response",
    ...facts,
    status: 200,
    contentType: "text/plain",
    body,
    isCut: false,
    wireBytes: body.length,
  };
}

const DAY_MS = 86_400_000;

/** What every ledger keeps of audits. `prepare` makes an empty one and gives its URL. */
function auditContract(
  name: string,
  prepare: () => string,
  bodiesOf: (url: string) => Promise<readonly string[]>,
): void {
  describe(name, () => {
    test("gives records back as they were, oldest first", async () => {
      const ledger = await open(prepare(), dataDir);
      const first = auditOf(
        serves(Buffer.from("User-agent: *\nCrawl-delay: 0.5\n\0\xff", "latin1")),
        1,
      );
      const second = auditOf(
        { kind: "failure", ...facts, fault: "dns", cause: "x", status: undefined },
        2,
      );
      await ledger.keepAudit(second);
      await ledger.keepAudit(first);
      await ledger.keepAudit(auditOf(serves(Buffer.from("")), 3, "other.example"));
      const request = { host: "www.example.com", agent: undefined, limit: 10 };
      const read = await ledger.query("audits", request);
      expect(new Set(read)).toEqual(new Set([...first.records, ...second.records]));
      expect(read.map(({ checked_at }) => checked_at.slice(-4))).toEqual([
        "001Z",
        "001Z",
        "002Z",
        "002Z",
      ]);
      expect(await ledger.query("audits", { ...request, agent: "*" })).toEqual([
        first.records[1],
        second.records[1],
      ]);
      expect(await ledger.query("audits", { ...request, agent: "*", limit: 1 })).toEqual([
        second.records[1],
      ]);
      await ledger.close();
    });

    test("keeps the largest value, and a body that comes again", async () => {
      const ledger = await open(prepare(), dataDir);
      const body = Buffer.from("User-agent: *\nCrawl-delay: 9007199254740991\n");
      await ledger.keepAudit(auditOf(serves(body), 1));
      await ledger.keepAudit(auditOf(serves(body), 2));
      const read = await ledger.query("audits", { host: target.host, agent: "*", limit: 10 });
      expect(read.map(({ crawl_delay_seconds }) => crawl_delay_seconds)).toEqual([
        9007199254740991, 9007199254740991,
      ]);
      await ledger.close();
    });

    test("lets audits go by age, and the bodies that no audit speaks of any more", async () => {
      const at = prepare();
      const [stale, still] = ["User-agent: a\n", "User-agent: b\n"].map((text) =>
        serves(Buffer.from(text)),
      );
      if (stale === undefined || still === undefined) throw new Error("no bodies");
      const nowMs = 100 * DAY_MS;
      const atDay = (day: number): string => new Date(day * DAY_MS).toISOString();
      const retention = { ageOf: () => 0, auditAge: 30 * DAY_MS, nowMs };
      const { removed, again, left } = await ask(at, dataDir, async (query) => {
        await query("keepAudit", auditOf(stale, 69 * DAY_MS));
        await query("keepAudit", auditOf(still, 69 * DAY_MS));
        await query("keepAudit", auditOf(still, 70 * DAY_MS));
        const kept = await vacuumLedger(query, { ...retention, auditAge: undefined });
        expect(kept.audits).toBe(0);
        return {
          removed: await vacuumLedger(query, retention),
          again: await vacuumLedger(query, retention),
          left: await query("audits", { host: target.host, agent: "*", limit: 10 }),
        };
      });
      expect(removed).toEqual({ events: 0, audits: 4 });
      expect(again).toEqual({ events: 0, audits: 0 });
      expect(left.map(({ checked_at }) => checked_at)).toEqual([atDay(70)]);
      expect(await bodiesOf(at)).toEqual([bodyHash(still)]);
    });
  });
}

const BODIES = "select sha256 from robots_bodies";

auditContract(
  "audits in SQLite",
  () => `sqlite:${join(dataDir, "ledger.db")}`,
  async () => {
    const database = new DatabaseSync(join(dataDir, "ledger.db"));
    const rows = database.prepare(BODIES).all();
    database.close();
    return rows.map(({ sha256 }) => String(sha256));
  },
);

test("a body is kept once for its hash, byte by byte", async () => {
  const path = join(dataDir, "ledger.db");
  const ledger = await open(`sqlite:${path}`, dataDir);
  const body = Buffer.from([0xff, 0xfe, 0x00, 0x0a, 0x80]);
  for (const atMs of [1, 2]) await ledger.keepAudit(auditOf(serves(body), atMs));
  await ledger.close();
  const database = new DatabaseSync(path);
  const rows = database.prepare("select sha256, body, since from robots_bodies").all();
  database.close();
  expect(rows).toEqual([
    {
      sha256: bodyHash(serves(body)),
      body: new Uint8Array(body),
      since: "1970-01-01T00:00:00.001Z",
    },
  ]);
});

const programs = postgresPrograms();

describe.skipIf(programs === undefined)("with a server", () => {
  let server: PostgresServer;
  let databases = 0;
  beforeAll(async () => {
    server = await startPostgres(programs ?? "");
  });
  afterAll(() => server.remove());

  auditContract(
    "audits in PostgreSQL",
    () => server.createDatabase(`audits_${databases++}`),
    async (at) => {
      const client = new pg.Client(at);
      await client.connect();
      const { rows } = await client.query(BODIES);
      await client.end();
      return rows.map(({ sha256 }) => String(sha256));
    },
  );
});
