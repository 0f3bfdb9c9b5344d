import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { auditHost, bodyHash } from "../../../src/core/audit/crawl-delay.ts";
import type { RobotsFetch } from "../../../src/core/audit/fetch.ts";
import type { KeptAudit } from "../../../src/core/audit/stored.ts";
import type { AuditTarget } from "../../../src/core/audit/target.ts";
import { open } from "./contract.ts";
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

/** What every ledger keeps of audits. `prepare` makes an empty one and gives its URL. */
function auditContract(name: string, prepare: () => string): void {
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
  });
}

auditContract("audits in SQLite", () => `sqlite:${join(dataDir, "ledger.db")}`);

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

  auditContract("audits in PostgreSQL", () => server.createDatabase(`audits_${databases++}`));
});
