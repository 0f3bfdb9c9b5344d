import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DecisionEvent } from "../../../src/core/event.ts";
import type { LedgerReport } from "../../../src/core/ledger/report.ts";
import { eventToRow, type StoredRow, storedRowToJson } from "../../../src/core/ledger/row.ts";
import { appendEvents } from "../../../src/io/ledger/append.ts";
import type { Database } from "../../../src/io/ledger/database.ts";
import type { EventPlace, EventsPage } from "../../../src/io/ledger/events.ts";
import { createHourlyCounts } from "../../../src/io/ledger/hourly.ts";
import type { Ledger, LedgerQuery } from "../../../src/io/ledger/ledger.ts";
import { parseLedgerUrl } from "../../../src/io/ledger/location.ts";
import { migrate, SCHEMA_VERSION } from "../../../src/io/ledger/migrations.ts";
import { openLedger } from "../../../src/io/ledger/open.ts";
import { openPostgres } from "../../../src/io/ledger/postgres.ts";
import { vacuumLedger } from "../../../src/io/ledger/retention.ts";
import { readInstance } from "../../../src/io/ledger/secrets.ts";
import { readSigningKey } from "../../../src/io/ledger/signer.ts";
import { openSqlite } from "../../../src/io/ledger/sqlite.ts";
import { openStore } from "../../../src/io/ledger/store.ts";
import type { VerifyResult } from "../../../src/io/ledger/verify.ts";
import { sampleEvent } from "./sample.ts";

/** A ledger that a test of the contract runs on. */
export interface Subject {
  readonly url: string;
  /** Changes the database behind the ledger's back. */
  tamper(sql: string): void | Promise<void>;
}

/** Opens a ledger and fails where there is none. */
export async function open(url: string, dataDir: string): Promise<Ledger> {
  const ledger = await openLedger(url, { dataDir, log: () => undefined });
  if (ledger === undefined) throw new Error("no ledger");
  return ledger;
}

async function openDatabase(url: string): Promise<Database> {
  return url.startsWith("sqlite:")
    ? openSqlite(url.slice("sqlite:".length), "create")
    : openPostgres(url);
}

/** Works on a ledger in this thread: starting one for each question would be slow. */
export async function ask<T>(
  url: string,
  dataDir: string,
  work: (query: LedgerQuery) => Promise<T>,
): Promise<T> {
  const location = parseLedgerUrl(url, dataDir);
  if (location === undefined) throw new Error("no ledger");
  const store = await openStore({
    location,
    mode: "create",
    instance: readInstance(dataDir),
    signingKey: readSigningKey(dataDir),
  });
  try {
    return await work((method, request) => store[method](request));
  } finally {
    await store.close(undefined);
  }
}

/** Every event of a ledger as it is exported. */
export function readAll(url: string, dataDir: string): Promise<readonly DecisionEvent[]> {
  return ask(url, dataDir, async (query) => {
    const rows: StoredRow[] = [];
    const all = { since: undefined, until: undefined, siteId: undefined, limit: 100 };
    let after: EventPlace | undefined;
    do {
      const page: EventsPage = await query("events", { ...all, after });
      rows.push(...page.rows);
      after = page.last;
    } while (after !== undefined);
    return rows.map((row) => JSON.parse(storedRowToJson(row)));
  });
}

const HOUR = 3_600_000;

function ago(ms: number): string {
  return new Date(Date.now() - ms).toISOString();
}

/** What every ledger promises, whatever keeps it. `prepare` makes an empty one for each test. */
export function ledgerContract(name: string, prepare: (dataDir: string) => Promise<Subject>): void {
  describe(name, () => {
    let dataDir: string;
    let subject: Subject;
    beforeEach(async () => {
      dataDir = mkdtempSync(join(tmpdir(), "crawlwall-ledger-"));
      subject = await prepare(dataDir);
    });
    afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

    async function write(events: readonly DecisionEvent[]): Promise<void> {
      const rows = JSON.stringify(events.map(eventToRow));
      await ask(subject.url, dataDir, async (query) => {
        await query("append", { rows, retried: false });
        await query("sign", undefined);
      });
    }

    function verify(checkpoints: readonly string[] = []): Promise<VerifyResult> {
      const publicKeys = [readSigningKey(dataDir)];
      return ask(subject.url, dataDir, (query) => query("verify", { publicKeys, checkpoints }));
    }

    function report(since: string, siteId?: string, until?: string): Promise<LedgerReport> {
      return ask(subject.url, dataDir, (query) => query("report", { since, until, siteId }));
    }

    async function vacuum(ageOf: (siteId: string | null) => number): Promise<number> {
      const retention = { ageOf, auditAge: undefined, nowMs: Date.now() };
      const { events } = await ask(subject.url, dataDir, (query) => vacuumLedger(query, retention));
      return events;
    }

    test("an event comes back as it was recorded, absent values as null", async () => {
      const plain = sampleEvent();
      const full = sampleEvent({
        request_id: "req-12345678",
        raw_path: "/archive/%61",
        query: "a=1&b=ü",
        reading: "/x/secret",
        bot_operator: "OpenAI",
        claimed: true,
        verified: true,
        verification: "verified",
        evidence: { ip_ranges: { list: "gptbot.json", version: 3, prefix: "203.0.113.0/24" } },
        action: "allow_metered",
        shadowed: [{ rule_id: "trial", action: "block", status: 402 }],
        faults: [{ rule_id: "odd", message: "no such key: `x`" }],
        tags: ["metered", "ai_training"],
        price_amount: "0.30",
        price_currency: "USD",
        price_unit: "request",
        receipt_id: "r",
        receipt: "a.b.c",
      });
      await write([plain, full]);
      const [first, second] = await readAll(subject.url, dataDir);
      expect(first).toMatchObject(plain);
      expect(second).toMatchObject(full);
      expect(second?.price_amount).toBe("0.30");
    });

    test("a thousand events recorded at once are all there, once and in a chain", async () => {
      const events = Array.from({ length: 1000 }, () => sampleEvent());
      const ledger = await open(subject.url, dataDir);
      for (const event of events) ledger.record(event);
      await ledger.close();
      const ids = (await readAll(subject.url, dataDir)).map(({ id }) => id);
      expect(ids).toHaveLength(1000);
      expect(new Set(ids)).toEqual(new Set(events.map(({ id }) => id)));
      expect(await verify()).toMatchObject({ valid: true, events: 1000, faulty: 0 });
    });

    test("what a client sends cannot lose another's event: NUL, bad UTF-8, a 100 KB path", async () => {
      const hostile = [
        sampleEvent({ path: "/a\u0000b" }),
        sampleEvent({ user_agent: "\ud800 half a pair" }),
        sampleEvent({ path: `/${"x".repeat(100_000)}` }),
        sampleEvent({ path: `/${"ü".repeat(50_000)}` }),
        sampleEvent({ evidence: { reverse_dns: { ptr: "a\u0000.example", address: "\udc00" } } }),
        sampleEvent({ faults: [{ rule_id: "r", message: "\u0000\ud800" }] }),
      ];
      const mixed = hostile.flatMap((event) => [sampleEvent(), event]);
      await write(mixed);
      const stored = await readAll(subject.url, dataDir);
      expect(stored).toHaveLength(mixed.length);
      expect(stored.every(({ path }) => Buffer.byteLength(path) <= 2048)).toBe(true);
      expect(JSON.stringify(stored)).not.toMatch(/\\u0000|\\ud800|\\udc00/);
      expect(await verify()).toMatchObject({ valid: true });
    });

    test("a bad event is rejected alone, and counted", async () => {
      const twice = sampleEvent();
      const ledger = await open(subject.url, dataDir);
      for (const event of [sampleEvent(), twice, sampleEvent()]) ledger.record(event);
      await ledger.flush();
      for (const event of [sampleEvent(), twice, sampleEvent()]) ledger.record(event);
      await ledger.flush();
      expect(ledger.counters()).toMatchObject({ written: 5, rejected: 1, dropped: 0, queued: 0 });
      await ledger.close();
      expect(await verify()).toMatchObject({ valid: true, events: 5 });
    });

    test("a batch that was committed unheard is not written again", async () => {
      const rows = JSON.stringify([sampleEvent(), sampleEvent()].map(eventToRow));
      const again = await ask(subject.url, dataDir, async (query) => {
        await query("append", { rows, retried: false });
        return query("append", { rows, retried: true });
      });
      expect(again).toEqual({ written: 2, rejected: [] });
      expect(await verify()).toMatchObject({ valid: true, events: 2 });
    });

    test.each(Array.from({ length: SCHEMA_VERSION }, (_, version) => version))(
      "a ledger of schema %i is brought forward, with its events and their counts",
      async (version) => {
        const database = await openDatabase(subject.url);
        await migrate(database, version);
        const rows = [sampleEvent({ ts: ago(HOUR) }), sampleEvent()].map(eventToRow);
        if (version > 0) {
          const count = version > 1 ? createHourlyCounts(database) : async () => {};
          await appendEvents(database, readInstance(dataDir), rows, false, count);
        }
        await database.close();
        await write([sampleEvent()]);
        const kept = version > 0 ? 3 : 1;
        expect(await verify()).toMatchObject({ valid: true, events: kept });
        expect((await report(ago(5 * HOUR))).requests).toBe(kept);
      },
    );

    test("a restart goes on with the same chain", async () => {
      await write([sampleEvent(), sampleEvent()]);
      await write([sampleEvent()]);
      const result = await verify();
      expect(result).toMatchObject({ valid: true, events: 3, checkpoints: 2 });
      expect(result.chains).toHaveLength(1);
      expect(result.chains[0]?.last).toBe(3);
    });

    describe("a ledger that somebody changed", () => {
      beforeEach(() => write(Array.from({ length: 10 }, () => sampleEvent())));

      test("an edited row is found", async () => {
        await subject.tamper("update events set action = 'block' where seq = 4");
        const result = await verify();
        expect(result.valid).toBe(false);
        expect(result.faults).toMatchObject([{ kind: "edited", seq: 4 }]);
      });

      test("an edited row whose hash was made again is found by the row after it", async () => {
        await subject.tamper("delete from events where seq = 4");
        await subject.tamper("update events set seq = 4 where seq = 5");
        const result = await verify();
        expect(result.valid).toBe(false);
      });

      test.each([
        ["one in the middle", "seq = 5", "row 5 was removed"],
        ["several", "seq between 3 and 6", "rows 3 to 6 were removed"],
        ["the first", "seq = 1", "row 1 was removed"],
        ["the last", "seq = 10", "row 10 was removed"],
        ["all", "seq > 0", "rows 1 to 10 were removed"],
      ])("removed rows are found: %s", async (_, condition, message) => {
        await subject.tamper(`delete from events where ${condition}`);
        const result = await verify();
        expect(result.valid).toBe(false);
        expect(result.faults[0]).toMatchObject({ kind: "removed", message });
      });

      test("rows that changed places are found", async () => {
        await subject.tamper("update events set seq = 0 where seq = 3");
        await subject.tamper("update events set seq = 3 where seq = 7");
        await subject.tamper("update events set seq = 7 where seq = 0");
        const result = await verify();
        expect(result.valid).toBe(false);
        const moved = result.faults.filter(({ kind }) => kind === "reordered");
        expect(moved.map(({ message }) => message)).toEqual([
          "row 3 was moved: it was written as row 7",
          "row 7 was moved: it was written as row 3",
        ]);
      });

      test("a truncated chain shows against the checkpoint in the ledger", async () => {
        await subject.tamper("delete from events where seq > 6");
        await subject.tamper(
          "update writers set seq = 6, hash = (select hash from events where seq = 6)",
        );
        expect((await verify()).faults[0]).toMatchObject({ message: "rows 7 to 10 were removed" });
      });

      test("a chain cut with its checkpoints shows against one that was kept elsewhere", async () => {
        const kept = (await verify()).chains.flatMap(({ checkpoint }) => checkpoint ?? []);
        await subject.tamper("delete from events where seq > 6");
        await subject.tamper("delete from checkpoints");
        await subject.tamper(
          "update writers set seq = 6, hash = (select hash from events where seq = 6)",
        );
        expect(await verify()).toMatchObject({ valid: true });
        expect((await verify(kept)).faults[0]).toMatchObject({
          message: "rows 7 to 10 were removed",
        });
      });

      test("a forged checkpoint is not believed", async () => {
        await subject.tamper("delete from events where seq < 6");
        await subject.tamper("update checkpoints set jws = replace(jws, '.', '.A')");
        const result = await verify();
        expect(result.faults.map(({ kind }) => kind)).toEqual(["checkpoint", "removed"]);
      });

      test("a row removed before a vacuum stays known", async () => {
        await subject.tamper("delete from events where seq = 2");
        expect(await vacuum(() => 0)).toBe(9);
        expect((await verify()).faults[0]).toMatchObject({ message: "row 2 was removed" });
      });
    });

    test("vacuum removes what is old, wherever it stands, and the chain stays provable", async () => {
      const ages = [50, 2, 49, 30, 1, 48, 3];
      await write(ages.map((hours) => sampleEvent({ ts: ago(hours * HOUR) })));
      expect(await vacuum(() => 24 * HOUR)).toBe(4);
      expect(await readAll(subject.url, dataDir)).toHaveLength(3);
      expect(await verify()).toMatchObject({ valid: true, events: 3 });
      expect(await vacuum(() => 0)).toBe(3);
      await write([sampleEvent()]);
      expect(await verify()).toMatchObject({ valid: true, events: 1 });
    });

    test("counts by the hour outlive the events", async () => {
      await write([sampleEvent({ ts: ago(30 * HOUR) }), sampleEvent()]);
      expect((await report(ago(48 * HOUR))).requests).toBe(2);
      await vacuum(() => 24 * HOUR);
      expect((await report(ago(48 * HOUR))).requests).toBe(2);
      expect((await report(ago(24 * HOUR))).requests).toBe(1);
    });

    test("each site's events go at the age that its policy says", async () => {
      const old = { ts: ago(10 * HOUR) };
      await write([
        sampleEvent({ ...old, site_id: "short" }),
        sampleEvent({ ...old, site_id: "long" }),
      ]);
      const removed = await vacuum((site) => (site === "short" ? HOUR : 100 * HOUR));
      expect(removed).toBe(1);
      expect((await readAll(subject.url, dataDir)).map(({ site_id }) => site_id)).toEqual(["long"]);
    });

    test("a report counts every request as allowed, blocked or would block, and their parts", async () => {
      await write([
        sampleEvent(),
        sampleEvent({ action: "block", status: 403, rule_id: "spoof", reason: "spoofed_bot" }),
        sampleEvent({ action: "rate_limit_exceeded", status: 429, rule_id: "limit" }),
        sampleEvent({ action: "block", status: 503, rule_id: "runtime.verifier_error" }),
        sampleEvent({ enforced: false, would_block: true, action: "block", rule_id: "spoof" }),
        sampleEvent({ enforced: false, would_block: true, action: "rate_limit_exceeded" }),
        sampleEvent({ action: "allow_metered", price_amount: "0.002", price_currency: "USD" }),
        sampleEvent({ action: "allow_metered", price_amount: "0.3", price_currency: "USD" }),
        sampleEvent({ site_id: "other" }),
      ]);
      const counted = await report(ago(HOUR));
      expect(counted).toMatchObject({
        requests: 9,
        allowed: 4,
        blocked: 3,
        would_block: 2,
        rate_limited: 1,
        would_rate_limit: 1,
        metered: 2,
        verifier_errors: 1,
        metered_amounts: [{ currency: "USD", amount: "0.302", requests: 2 }],
      });
      expect((await report(ago(HOUR), "other")).requests).toBe(1);
    });

    test("a window is kept to the moment, not only to the hour", async () => {
      const now = Date.now();
      const startOfHour = now - (now % HOUR) - 2 * HOUR;
      const at = (minutes: number) => new Date(startOfHour + minutes * 60_000).toISOString();
      await write([5, 20, 40, 70].map((minutes) => sampleEvent({ ts: at(minutes) })));
      expect((await report(at(20))).requests).toBe(3);
      expect((await report(at(21))).requests).toBe(2);
      expect(await report(at(21))).toMatchObject({ since: at(21) });
      expect((await report(at(20), undefined, at(40))).requests).toBe(1);
      expect((await report(at(0), undefined, at(71))).requests).toBe(4);
      expect((await report(at(10), undefined, at(60))).requests).toBe(2);
    });

    test("shadow rules and faults are counted apart", async () => {
      const shadowed = [{ rule_id: "trial", action: "block" as const, status: 402 }];
      const faults = [{ rule_id: "odd", message: "no such key" }];
      await write([
        sampleEvent({ shadowed, ts: ago(3 * HOUR) }),
        sampleEvent({ shadowed }),
        sampleEvent({ faults }),
      ]);
      expect(await report(ago(5 * HOUR))).toMatchObject({
        blocked: 0,
        would_block: 0,
        shadowed: [{ rule_id: "trial", action: "block", status: 402, requests: 2 }],
        faults: [{ rule_id: "odd", requests: 1 }],
      });
    });

    test("made-up paths cannot fill the ledger: an hour keeps those asked for most", async () => {
      const often = Array.from({ length: 50 }, () => sampleEvent({ path: "/often" }));
      const once = Array.from({ length: 6000 }, (_, index) =>
        sampleEvent({ path: `/once/${index}` }),
      );
      await write([...often, ...once]);
      expect((await report(ago(HOUR))).top_paths[0]).toMatchObject({
        path: "/often",
        requests: 50,
      });
    });

    test("a policy that decided can be found by its hash", async () => {
      const ledger = await open(subject.url, dataDir);
      const policy = { hash: "a".repeat(64), siteId: "docs", document: '{"x":1}' };
      ledger.adopt([policy], new Map());
      ledger.adopt([policy], new Map());
      ledger.record(sampleEvent());
      await ledger.flush();
      expect(await ledger.query("policy", "a".repeat(64))).toBe('{"x":1}');
      expect(await ledger.query("policy", "b".repeat(64))).toBeUndefined();
      await ledger.close();
    });
  });
}
