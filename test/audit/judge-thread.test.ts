import { afterEach, beforeEach, expect, test } from "vitest";
import { createJudgeThread, type JudgeThread } from "../../src/audit/judge-thread.ts";
import { judgeHost } from "../../src/audit/run.ts";
import { failure, response, target } from "../support/audited-host.ts";

const LARGE = response(`User-agent: *\n${"Disallow: /a\n".repeat(39_000)}Crawl-delay: 5\n`);

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
      return thread.judge(target, response(text), delay);
    }),
  );
  expect(outcomes.map(({ records }) => records[0]?.crawl_delay_seconds)).toEqual(delays);
});

test("a file of the usual size needs no thread", async () => {
  const small = response("User-agent: *\nCrawl-delay: 5\n");
  expect(await thread.judge(target, small, 1)).toEqual(judgeHost(target, small, 1));
  expect(turns).toBe(0);
});

test("a failure needs no thread either", async () => {
  const fetched = failure("dns");
  expect(await thread.judge(target, fetched, 1)).toEqual(judgeHost(target, fetched, 1));
  expect(turns).toBe(0);
});

test("a thread that ends before its answer costs no verdict, and the next file has another", async () => {
  const asked = thread.judge(target, LARGE, 1);
  thread.end();
  expect(await asked).toEqual(judgeHost(target, LARGE, 1));
  expect(await thread.judge(target, LARGE, 2)).toEqual(judgeHost(target, LARGE, 2));
});
