import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readSigningKey } from "../../../src/io/ledger/signer.ts";
import { waitFor } from "../../support/wait.ts";
import { ask, readAll } from "./contract.ts";

const RECORDER = fileURLToPath(new URL("./recorder.ts", import.meta.url));

interface Recorder {
  readonly child: ChildProcess;
  /** What it said after each time that it recorded: how many events so far, and when. */
  readonly said: readonly (readonly [count: number, ms: number])[];
  /** How many events it has recorded. */
  readonly count: () => number;
  readonly output: () => string;
  readonly log: () => string;
}

let dataDir: string;
let url: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "crawlwall-recorder-"));
  url = `sqlite:${join(dataDir, "ledger.db")}`;
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

/** Starts a process that records so many events every two milliseconds. */
function start(atATime: number): Recorder {
  const child = spawn(process.execPath, [RECORDER, url, dataDir, String(atATime)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said: [number, number][] = [];
  let output = "";
  let log = "";
  createInterface(child.stdout).on("line", (line) => {
    const [count, ms] = line.split(" ").map(Number);
    if (count !== undefined && ms !== undefined && count > 0) said.push([count, ms]);
    else output += `${line}\n`;
  });
  child.stderr.on("data", (chunk: Buffer) => {
    log += chunk.toString();
  });
  const count = (): number => said.at(-1)?.[0] ?? 0;
  return { child, said, count, output: () => output, log: () => log };
}

async function storedNumbers(): Promise<readonly number[]> {
  const events = await readAll(url, dataDir);
  return events.map(({ path }) => Number(path.slice(1))).sort((left, right) => left - right);
}

async function isIntact(): Promise<boolean> {
  const publicKeys = [readSigningKey(dataDir)];
  const result = await ask(url, dataDir, (query) =>
    query("verify", { publicKeys, checkpoints: [] }),
  );
  return result.valid;
}

const KILLS = Number(process.env.LEDGER_KILLS ?? 3);

test("a killed process loses a moment of events at most, and the chain stays whole", async ({
  annotate,
}) => {
  let longestMs = 0;
  for (let round = 0; round < KILLS; round++) {
    for (const file of ["ledger.db", "ledger.db-wal", "ledger.db-shm"]) {
      rmSync(join(dataDir, file), { force: true });
    }
    // Quiet and busy in turn: a busy ledger now and then moves its log into its file.
    const isBusy = round % 2 === 1;
    const recorder = start(isBusy ? 5 : 1);
    await waitFor("events", () => recorder.count() > 100 || undefined, 30_000);
    const longestWaitMs = isBusy ? 4000 : 300;
    await new Promise((resolve) => setTimeout(resolve, Math.random() * longestWaitMs));
    const ended = once(recorder.child, "close");
    recorder.child.kill("SIGKILL");
    await ended;
    const lastMs = recorder.said.at(-1)?.[1] ?? 0;
    const stored = await storedNumbers();
    expect(stored).toEqual(stored.map((_, index) => index));
    const firstLost = recorder.said.find(([count]) => count > stored.length);
    const ageMs = firstLost === undefined ? 0 : lastMs - firstLost[1];
    // 100 ms of waiting for a batch and the time to write one; more only where the machine is busy.
    expect(ageMs).toBeLessThanOrEqual(250);
    expect(await isIntact()).toBe(true);
    longestMs = Math.max(longestMs, ageMs);
  }
  await annotate(`of ${KILLS} kills, the one that lost most lost the last ${longestMs} ms`);
}, 600_000);

test("a process that is told to stop loses nothing", async () => {
  const recorder = start(50);
  await waitFor("events", () => recorder.count() > 2000 || undefined, 30_000);
  const ended = once(recorder.child, "close");
  recorder.child.kill("SIGTERM");
  await ended;
  const count = recorder.count();
  expect((await storedNumbers()).length).toBe(count);
  expect(recorder.output()).toContain(`"written":${count},"dropped":0,"rejected":0`);
  expect(await isIntact()).toBe(true);
}, 120_000);

/** Caps the size of what a process may write to files, as a full disk does; undefined lifts the cap. */
function capFiles(pid: number, bytes: number | undefined): boolean {
  const limit = `--fsize=${bytes ?? "unlimited"}:unlimited`;
  return spawnSync("prlimit", ["--pid", String(pid), limit]).status === 0;
}

const canCap = capFiles(process.pid, undefined);

test.skipIf(!canCap)(
  "a disk that is full, and has room again, loses no event",
  async () => {
    const recorder = start(1);
    const pid = recorder.child.pid ?? 0;
    await waitFor("events", () => recorder.count() > 200 || undefined, 30_000);
    expect(capFiles(pid, 400_000)).toBe(true);
    await waitFor(
      "no room",
      () => recorder.log().includes("cannot be written") || undefined,
      30_000,
    );
    const duringOutage = recorder.count();
    await waitFor("more", () => recorder.count() > duringOutage + 200 || undefined, 30_000);
    expect(capFiles(pid, undefined)).toBe(true);
    await waitFor(
      "room",
      () => recorder.log().includes("can be written again") || undefined,
      30_000,
    );
    const ended = once(recorder.child, "close");
    recorder.child.kill("SIGTERM");
    await ended;
    expect((await storedNumbers()).length).toBe(recorder.count());
    expect(await isIntact()).toBe(true);
  },
  120_000,
);
