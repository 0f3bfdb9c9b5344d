import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openRecords, type Records } from "../../src/assemble/records.ts";
import { StartError } from "../../src/assemble/start-error.ts";
import { createMetrics } from "../../src/io/metrics.ts";
import { readSettings } from "../../src/settings.ts";
import { policyFrom } from "../support/compile.ts";
import { requestFor, testGate } from "../support/visits.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "crawlwall-records-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const log = pino({ level: "silent" });

function open(dataDir: string, logIp: string): Promise<Records> {
  const settings = readSettings({
    listen: "127.0.0.1:9301",
    admin: "off",
    ledger: "off",
    dataDir,
    verifyTimeout: "500ms",
    logLevel: "info",
    logFile: join(folder, "decisions.jsonl"),
    logIp,
  });
  return openRecords(settings, createMetrics(), log);
}

/** A data folder that cannot be made. */
function noFolder(): string {
  writeFileSync(join(folder, "file"), "");
  return join(folder, "file", "data");
}

const HASHED = policyFrom("site: { id: docs, host: docs.example.com }\nledger: { ip: hashed }\n");
const PLAIN = policyFrom("site: { id: docs, host: docs.example.com }\n");

test("a key for hashing addresses that cannot be had stops the start, not the first event", async () => {
  await expect(open(noFolder(), "hashed")).rejects.toThrow(StartError);
});

test("policies that need such a key are refused, others are not", async () => {
  const records = await open(noFolder(), "full");
  expect(() => records.check([PLAIN])).not.toThrow();
  expect(() => records.check([PLAIN, HASHED])).toThrow(StartError);
  await records.close();
});

test("what was recorded in the last moment is in the log when it is closed", async () => {
  const records = await open(join(folder, "data"), "full");
  const gate = testGate({ kind: "settled", verification: "unverifiable" });
  const { event } = await gate.judge(PLAIN, requestFor());
  for (let count = 0; count < 300; count += 1) records.record(event, PLAIN);
  await records.close();
  const lines = readFileSync(join(folder, "decisions.jsonl"), "utf8").trim().split("\n");
  expect(lines).toHaveLength(300);
  expect(JSON.parse(lines[299] ?? "")).toEqual(event);
});
