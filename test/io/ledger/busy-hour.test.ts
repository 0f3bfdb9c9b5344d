import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventToRow, STORED_COLUMNS } from "../../../src/core/ledger/row.ts";
import { ask } from "./contract.ts";
import { sampleEvent } from "./sample.ts";

/** Events of the hour, evenly spread: more than a report counts one by one. */
const EVENTS = 60_000;
const HOUR = "2026-11-30T08";

let dataDir: string;

/** One event as it is written, and by SQL many more like it: millions would come in seconds. */
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "crawlwall-busy-"));
  const rows = JSON.stringify([eventToRow(sampleEvent({ ts: `${HOUR}:00:00.000Z` }))]);
  await ask("sqlite:", dataDir, (query) => query("append", { rows, retried: false }));
  const database = new DatabaseSync(join(dataDir, "ledger.db"));
  const seconds = `i * 3600 / ${EVENTS}`;
  const given: Readonly<Record<string, string>> = {
    id: "'copy-' || i",
    ts: `printf('${HOUR}:%02d:%02d.000Z', ${seconds} / 60, ${seconds} % 60)`,
    seq: "i + 1",
  };
  const values = STORED_COLUMNS.map(([name]) => given[name] ?? `events.${name}`);
  database.exec(`
    with recursive n (i) as (select 1 union all select i + 1 from n where i < ${EVENTS - 1})
    insert into events select ${values.join(", ")} from n, events;
    update hourly_decisions set requests = ${EVENTS};
    update hourly_paths set requests = ${EVENTS};`);
  database.close();
});

afterAll(() => rmSync(dataDir, { recursive: true }));

test.each([
  ["its last ten minutes", "08:50", "10:00", 10_000, "08:50"],
  ["its first ten minutes", "07:00", "08:10", 10_000, "07:00"],
  ["minutes in its middle", "08:20", "08:25", 5000, "08:20"],
  ["nearly all of it, which counts as the whole hour", "08:01", "10:00", EVENTS, "08:00"],
])("a report over a busy hour tells %s", async (_, from, to, requests, since) => {
  const at = (time: string): string => `2026-11-30T${time}:00.000Z`;
  const window = { since: at(from), until: at(to), siteId: undefined };
  const report = await ask("sqlite:", dataDir, (query) => query("report", window));
  expect(report).toMatchObject({ requests, allowed: requests, since: at(since) });
  expect(report.top_paths).toMatchObject([{ path: "/archive/a", requests }]);
});
