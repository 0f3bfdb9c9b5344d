import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Ledger } from "../../../src/io/ledger/ledger.ts";
import { openLedger } from "../../../src/io/ledger/open.ts";
import { readSigningKey } from "../../../src/io/ledger/signer.ts";
import { freePort } from "../../support/free-port.ts";
import { waitFor } from "../../support/wait.ts";
import { ask, readAll } from "./contract.ts";
import { type PostgresServer, postgresPrograms, startPostgres } from "./postgres-server.ts";
import { sampleEvent } from "./sample.ts";

let dataDir: string;
const lines: string[] = [];
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "crawlwall-outage-"));
  lines.length = 0;
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

async function open(url: string, home = dataDir): Promise<Ledger> {
  const ledger = await openLedger(url, {
    dataDir: home,
    log: (level, _, message) => lines.push(`${level} ${message}`),
  });
  if (ledger === undefined) throw new Error("no ledger");
  return ledger;
}

/** Records for a while, and tells how many. */
async function recordFor(ledger: Ledger, milliseconds: number): Promise<number> {
  const end = performance.now() + milliseconds;
  let count = 0;
  while (performance.now() < end) {
    for (let index = 0; index < 20; index++) ledger.record(sampleEvent());
    count += 20;
    await sleep(5);
  }
  return count;
}

async function expectIntact(url: string, events: number, homes = [dataDir]): Promise<void> {
  const ids = (await readAll(url, dataDir)).map(({ id }) => id);
  expect(ids).toHaveLength(events);
  expect(new Set(ids).size).toBe(events);
  const publicKeys = homes.map(readSigningKey);
  expect(
    await ask(url, dataDir, (query) => query("verify", { publicKeys, checkpoints: [] })),
  ).toMatchObject({ valid: true, events });
}

test("a file that another program locks delays no request and loses no event", async () => {
  const path = join(dataDir, "ledger.db");
  const ledger = await open(`sqlite:${path}`);
  ledger.record(sampleEvent());
  await ledger.flush();
  const other = new DatabaseSync(path);
  other.exec("begin exclusive");
  const startMs = performance.now();
  for (let count = 0; count < 1000; count++) ledger.record(sampleEvent());
  expect(performance.now() - startMs).toBeLessThan(500);
  await waitFor("a failed write", () => ledger.counters().errors > 0 || undefined, 20_000);
  other.exec("commit");
  other.close();
  await ledger.flush();
  expect(ledger.counters()).toMatchObject({ written: 1001, dropped: 0, rejected: 0 });
  await ledger.close();
  expect(lines.filter((line) => line.includes("cannot be written"))).toHaveLength(1);
  expect(lines.at(-1)).toBe("info the ledger can be written again");
  await expectIntact(`sqlite:${path}`, 1001);
});

const programs = postgresPrograms();

describe.skipIf(programs === undefined)("with PostgreSQL", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres(programs ?? "");
  });
  afterAll(() => server.remove());

  test("a server that goes and comes back under load costs no event, and no wait", async () => {
    const url = server.createDatabase("outage");
    const ledger = await open(url);
    let count = await recordFor(ledger, 300);
    await ledger.flush();
    const recording = recordFor(ledger, 2500);
    await server.stop();
    await waitFor("a failed write", () => ledger.counters().errors > 0 || undefined, 20_000);
    await server.start();
    count += await recording;
    await ledger.flush();
    expect(ledger.counters()).toMatchObject({ written: count, dropped: 0, rejected: 0 });
    await ledger.close();
    await expectIntact(url, count);
  });

  test("two installations write into one ledger at once, each its own chain", async () => {
    const url = server.createDatabase("shared");
    const secondDir = mkdtempSync(join(tmpdir(), "crawlwall-outage-"));
    const [first, second] = await Promise.all([open(url), open(url, secondDir)]);
    const counts = await Promise.all([recordFor(first, 1000), recordFor(second, 1000)]);
    await Promise.all([first.close(), second.close()]);
    expect(first.counters()).toMatchObject({ written: counts[0], dropped: 0, rejected: 0 });
    expect(second.counters()).toMatchObject({ written: counts[1], dropped: 0, rejected: 0 });
    await expectIntact(url, counts[0] + counts[1], [dataDir, secondDir]);
    rmSync(secondDir, { recursive: true, force: true });
  });

  test("a server that is not there at the start is reached when it comes", async () => {
    const url = server.createDatabase("late");
    await server.stop();
    const ledger = await open(url);
    expect(ledger.isOpen()).toBe(false);
    ledger.record(sampleEvent());
    await server.start();
    await waitFor("the ledger", () => ledger.isOpen() || undefined, 20_000);
    await ledger.flush();
    expect(ledger.counters()).toMatchObject({ written: 1, dropped: 0 });
    await ledger.close();
    await expectIntact(url, 1);
  });

  test("a database that does not exist is refused at the start, without quoting the password", async () => {
    const url = server.url
      .replace("crawlwall@", "crawlwall:s3cret@")
      .replace(/postgres$/, "nosuch");
    const message = await open(url).then(
      () => "opened",
      (error: unknown) => String(error),
    );
    expect(message).toContain('database "nosuch" does not exist');
    expect(message + lines.join("")).not.toContain("s3cret");
  });
});

test("a server that cannot be reached does not hold up the end for long", async () => {
  const ledger = await open(`postgres://crawlwall:s3cret@127.0.0.1:${await freePort()}/none`);
  ledger.record(sampleEvent());
  const startMs = performance.now();
  await ledger.close();
  expect(performance.now() - startMs).toBeLessThan(8000);
  expect(ledger.counters()).toMatchObject({ dropped: 1, queued: 0 });
  expect(lines.join("")).not.toContain("s3cret");
});
