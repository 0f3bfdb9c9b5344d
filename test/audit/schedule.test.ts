import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { AuditedHost } from "../../src/audit/run.ts";
import { type AuditSchedule, startAuditSchedule } from "../../src/audit/schedule.ts";
import type { AuditPlan } from "../../src/core/audit/config.ts";
import type { RobotsFetch } from "../../src/core/audit/fetch.ts";
import { type AuditTarget, EVERYBODY } from "../../src/core/audit/target.ts";
import { response } from "../support/audited-host.ts";

const HOUR_MS = 3_600_000;

let schedule: AuditSchedule | undefined;
let plan: AuditPlan;
let asked: string[];
let kept: AuditedHost[];
let lines: (readonly [string, Readonly<Record<string, unknown>>, string])[];
let answer: (target: AuditTarget, signal: AbortSignal) => Promise<RobotsFetch>;
let keep: (outcome: AuditedHost) => Promise<void>;

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  plan = planOf("a.example");
  asked = [];
  kept = [];
  lines = [];
  answer = async (target) => serves(target, "User-agent: *\nCrawl-delay: 5\n");
  keep = async (outcome) => {
    kept.push(outcome);
  };
});

afterEach(async () => {
  await schedule?.close();
  schedule = undefined;
  vi.useRealTimers();
});

function planOf(...hosts: readonly string[]): AuditPlan {
  return {
    targets: hosts.map((host) => ({
      scheme: "https",
      host,
      rateLimitRequired: true,
      allowPrivate: false,
      agents: [EVERYBODY],
    })),
    skipped: [],
  };
}

function serves({ host }: AuditTarget, text: string): RobotsFetch {
  const url = `https://${host}/robots.txt`;
  return response(text, { url, finalUrl: url });
}

function start(): AuditSchedule {
  schedule = startAuditSchedule({
    everyMs: HOUR_MS,
    plan: () => plan,
    fetch: (target, signal) => {
      asked.push(target.host);
      return answer(target, signal);
    },
    keep: (outcome) => keep(outcome),
    nowMs: Date.now,
    random: () => 0.5,
    log: (...line) => lines.push(line),
  });
  return schedule;
}

test("the first run comes soon after the start, the next at each interval", async () => {
  const { counters } = start();
  await vi.advanceTimersByTimeAsync(29_999);
  expect(asked).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(asked).toEqual(["a.example"]);
  await vi.advanceTimersByTimeAsync(HOUR_MS);
  expect(asked).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(3 * HOUR_MS);
  expect(asked).toHaveLength(5);
  expect(counters()).toEqual({
    runs: 5,
    lastRunMs: 30_000 + 4 * HOUR_MS,
    hosts: 1,
    fetchFailures: 0,
    violations: 0,
    findings: 0,
    keepFailures: 0,
  });
});

test("every outcome is kept, and a reload counts from the next run on", async () => {
  start();
  await vi.advanceTimersByTimeAsync(HOUR_MS / 2);
  plan = planOf("b.example", "c.example");
  await vi.advanceTimersByTimeAsync(HOUR_MS);
  expect(kept.map(({ target }) => target.host)).toEqual(["a.example", "b.example", "c.example"]);
});

test("findings go to the log with what to do; a run ends with a line of its own", async () => {
  answer = async (target) => serves(target, "User-agent: *\nCrawl-delay: 0\n");
  const { counters } = start();
  await vi.advanceTimersByTimeAsync(HOUR_MS / 2);
  expect(lines).toMatchObject([
    [
      "warn",
      {
        host: "a.example",
        audited_agent: "*",
        triggers: ["crawl_delay_missing"],
        parser_error_code: "INVALID_VALUE",
        error_detail: "zero",
        why: "line 2: zero is no delay (`0`)",
        fix: expect.stringMatching(/^publish `Crawl-delay: 10`/),
      },
      "This host is configured as rate-limit sensitive, but robots.txt does not provide a valid crawl-delay directive.",
    ],
    ["info", { hosts: 1, violations: 1, findings: 1 }, "crawl-delay audit done"],
  ]);
  expect(counters()).toMatchObject({ violations: 1, findings: 1 });
});

test("what cannot be kept is told and counted, and the run goes on", async () => {
  plan = planOf("a.example", "b.example");
  keep = async () => {
    throw new Error("full");
  };
  const { counters } = start();
  await vi.advanceTimersByTimeAsync(HOUR_MS / 2);
  expect(counters()).toMatchObject({ runs: 1, hosts: 2, keepFailures: 2 });
  expect(lines.filter(([level]) => level === "error")).toHaveLength(2);
});

test("a run that outlasts the interval is not joined by another", async () => {
  let release: () => void = () => undefined;
  answer = (target) =>
    new Promise((resolve) => {
      release = () => resolve(serves(target, ""));
    });
  const { counters } = start();
  await vi.advanceTimersByTimeAsync(5 * HOUR_MS);
  expect(asked).toEqual(["a.example"]);
  release();
  await vi.advanceTimersByTimeAsync(HOUR_MS);
  expect(asked).toEqual(["a.example", "a.example"]);
  expect(counters().runs).toBe(1);
  release();
});

test("closing gives up the hosts that are being asked, keeps nothing of them, and asks no other", async () => {
  plan = planOf(...Array.from({ length: 100 }, (_, index) => `h${index}.example`));
  answer = (target, signal) =>
    new Promise((resolve) => {
      signal.addEventListener("abort", () => resolve(serves(target, "")));
    });
  const { close } = start();
  await vi.advanceTimersByTimeAsync(HOUR_MS / 2);
  expect(asked).toHaveLength(16);
  await close();
  expect(kept).toEqual([]);
  await vi.advanceTimersByTimeAsync(10 * HOUR_MS);
  expect(asked).toHaveLength(16);
});
