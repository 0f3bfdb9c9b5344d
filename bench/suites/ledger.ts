import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../../src/io/ledger/store.ts";
import type { Fact, Suite } from "../suite.ts";
import { HOST, requireCaddy, startCaddy } from "../support/caddy.ts";
import { CONNECTIONS, contender } from "../support/contender.ts";
import { findLoadTool } from "../support/load.ts";
import { startCrawlWall, startScript } from "../support/servers.ts";
import { checksOf, pagesOf, VISITS } from "../support/visits.ts";

/** What the ledger costs a decision, and a visitor; and how long a report takes. */
export const suite: Suite = {
  title: `decisions with the SQLite ledger and without, ${CONNECTIONS} connections`,
  unit: "requests/s",
  seconds: 4,
  open: async () => {
    const tool = findLoadTool();
    const caddy = requireCaddy();
    const facts = await measureReport();
    const backend = await startScript("backend.ts");
    const without = await startCrawlWall(["--ledger", "off"]);
    const within = await startCrawlWall();
    const behindWithout = await startCaddy(caddy, without, backend);
    const behindWithin = await startCaddy(caddy, within, backend);
    return {
      contenders: [
        contender("ledger off", without, checksOf(VISITS, tool.idMark), tool),
        contender("ledger on", within, checksOf(VISITS, tool.idMark), tool),
        contender("through Caddy, off", behindWithout, pagesOf(VISITS, HOST), tool),
        contender("through Caddy, on", behindWithin, pagesOf(VISITS, HOST), tool),
      ],
      goals: [
        { contender: "ledger on", against: "ledger off", atLeast: 0.75 },
        { contender: "through Caddy, on", against: "through Caddy, off", atLeast: 0.95 },
      ],
      facts,
      close: async () => {
        for (const server of [behindWithin, behindWithout, within, without, backend]) {
          await server.stop();
        }
      },
    };
  },
};

const HOURS = 24;

/** Events an hour, each hour with so many different decisions and paths. */
const EVENTS_AN_HOUR = Math.round(Number(process.env.LEDGER_EVENTS ?? 480_000) / HOURS);
const DECISIONS_AN_HOUR = 400;
const PATHS_AN_HOUR = 1000;

/** A report of the last 24 hours; `LEDGER_EVENTS` says over how many events. */
async function measureReport(): Promise<readonly Fact[]> {
  const folder = mkdtempSync(join(tmpdir(), "crawlwall-bench-"));
  const path = join(folder, "ledger.db");
  const location = { kind: "sqlite", path } as const;
  const options = { location, instance: "0123456789abcdef", signingKey: undefined };
  try {
    await (await openStore({ ...options, mode: "create" })).close(undefined);
    const until = new Date();
    await fill(path, until);
    const store = await openStore({ ...options, mode: "read" });
    const since = new Date(until.getTime() - HOURS * 3_600_000).toISOString();
    const start = performance.now();
    const request = { since, until: undefined, siteId: undefined };
    const { requests } = await store.report(request);
    const value = performance.now() - start;
    await store.close(undefined);
    return [{ name: `a 24 h report over ${requests} events`, value, unit: "ms", atMost: 1000 }];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Puts events and their hourly counts where writers would, by SQL: millions in seconds. */
async function fill(path: string, until: Date): Promise<void> {
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(path);
  database.exec("pragma synchronous = off; begin");
  for (let hour = 0; hour <= HOURS; hour++) {
    const start = new Date(until.getTime() - hour * 3_600_000).toISOString().slice(0, 13);
    database.exec(eventsOf(start, hour * EVENTS_AN_HOUR));
  }
  database.exec(`insert into hourly_decisions
    select substr(ts, 1, 13), site_id, bot_id, bot_class, verification, action, rule_id, '', status,
      enforced, would_block, '', '', count(*) from events group by 1, 2, 3, 4, 5, 6, 7, 9, 10, 11`);
  database.exec(`insert into hourly_paths
    select substr(ts, 1, 13), site_id, path, count(*), 0, 0 from events group by 1, 2, 3`);
  database.exec("commit");
  database.close();
}

function eventsOf(hour: string, first: number): string {
  const minute = "printf('%02d', (i / 60) % 60)";
  return `with recursive n (i) as (select 0 union all select i + 1 from n where i < ${EVENTS_AN_HOUR - 1})
    insert into events select
      printf('%012x-%d', i + ${first}, i), '${hour}:' || ${minute} || ':' || printf('%02d', i % 60) || '.000Z',
      null, 'docs', 'docs.example.com', 'GET', '/page/' || (i % ${PATHS_AN_HOUR}), null, null, null,
      '203.0.113.9', 'Mozilla/5.0 (compatible; ExampleBot/1.0)', 'bot' || (i % ${DECISIONS_AN_HOUR}),
      'search', null, 1, 0, 'refuted', null, 'block', 'rule' || (i % 20), null, 403, 'enforce', 1, 0,
      '[]', '[]', '[]', null, null, null, null, null, null, 42,
      '0123456789abcdef.docs', i + ${first}, '', '', 1 from n`;
}
