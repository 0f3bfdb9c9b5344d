import { parentPort } from "node:worker_threads";
import { auditHost } from "../core/audit/crawl-delay.ts";
import type { RobotsFetch } from "../core/audit/fetch.ts";
import type { CrawlDelayRecord } from "../core/audit/record.ts";
import type { AuditTarget } from "../core/audit/target.ts";

/** An answer to be judged in another thread. */
export interface JudgeCall {
  readonly call: number;
  readonly target: AuditTarget;
  readonly fetched: RobotsFetch;
  readonly nowMs: number;
}

/** Its records. */
export interface JudgeReply {
  readonly call: number;
  readonly records: readonly CrawlDelayRecord[];
}

parentPort?.on("message", ({ call, target, fetched, nowMs }: JudgeCall) => {
  const reply: JudgeReply = { call, records: auditHost(target, fetched, nowMs) };
  parentPort?.postMessage(reply);
});
