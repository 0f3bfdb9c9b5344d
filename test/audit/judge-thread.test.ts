import { afterEach, beforeEach, expect, test } from "vitest";
import { createJudgeThread, type JudgeThread } from "../../src/audit/judge-thread.ts";
import { judgeHost } from "../../src/audit/run.ts";
import type { RobotsFetch } from "../../src/core/audit/fetch.ts";
import { type AuditTarget, EVERYBODY } from "../../src/core/audit/target.ts";

const target: AuditTarget = {
  scheme: "https",
  host: "www.example.com",
  rateLimitRequired: true,
  allowPrivate: false,
  agents: [EVERYBODY],
};

const url = "https://www.example.com/robots.txt";
const facts = { url, finalUrl: url, redirects: [], attempts: 1 };

function serves(text: string): RobotsFetch {
  const body = new Uint8Array(Buffer.from(text));
  const answer = { status: 200, contentType: "text/plain", isCut: false };
  return { kind: "response", ...facts, ...answer, body, wireBytes: body.length };
}

const LARGE = serves(`User-agent: *\n${"Disallow: /a\n".repeat(39_000)}Crawl-delay: 5\n`);

let thread: JudgeThread;
let turns: number;
let clock: NodeJS.Timeout;

beforeEach(() => {
  thread = createJudgeThread();
  turns = 0;
  clock = setInterval(() => {
    turns++;
  }, 1);
});

afterEach(() => {
  clearInterval(clock);
  thread.end();
});

test("a file of 500 KB is judged while the process goes on serving", async () => {
  const outcome = await thread.judge(target, LARGE, 1);
  expect(turns).toBeGreaterThan(5);
  expect(outcome).toEqual(judgeHost(target, LARGE, 1));
  expect(outcome.records).toMatchObject([{ crawl_delay_seconds: 5, response_size: 507_029 }]);
});

test("answers that come together are not mistaken for each other", async () => {
  const delays = Array.from({ length: 16 }, (_, index) => index + 1);
  const outcomes = await Promise.all(
    delays.map((delay) => {
      const text = `User-agent: *\nCrawl-delay: ${delay}\n${"#\n".repeat(10_000)}`;
      return thread.judge(target, serves(text), delay);
    }),
  );
  expect(outcomes.map(({ records }) => records[0]?.crawl_delay_seconds)).toEqual(delays);
});

test("a file of the usual size needs no thread", async () => {
  const small = serves("User-agent: *\nCrawl-delay: 5\n");
  expect(await thread.judge(target, small, 1)).toEqual(judgeHost(target, small, 1));
  expect(turns).toBe(0);
});

test("a failure needs no thread either", async () => {
  const failure: RobotsFetch = {
    kind: "failure",
    ...facts,
    fault: "dns",
    cause: "x",
    status: undefined,
  };
  expect(await thread.judge(target, failure, 1)).toEqual(judgeHost(target, failure, 1));
  expect(turns).toBe(0);
});

test("a thread that ends before its answer costs no verdict, and the next file has another", async () => {
  const asked = thread.judge(target, LARGE, 1);
  thread.end();
  expect(await asked).toEqual(judgeHost(target, LARGE, 1));
  expect(await thread.judge(target, LARGE, 2)).toEqual(judgeHost(target, LARGE, 2));
});
