import { auditHost, bodyHash } from "../core/audit/crawl-delay.ts";
import type { RobotsFetch } from "../core/audit/fetch.ts";
import type { CrawlDelayRecord } from "../core/audit/record.ts";
import type { KeptAudit } from "../core/audit/stored.ts";
import type { AuditTarget } from "../core/audit/target.ts";

/** What came of one host. */
export interface AuditedHost extends KeptAudit {
  readonly target: AuditTarget;
  /** What kept a response from coming, in more detail than the records hold. */
  readonly cause: string | undefined;
}

/** Judges what a host answered. Never rejects. */
export type JudgeHost = (
  target: AuditTarget,
  fetched: RobotsFetch,
  nowMs: number,
) => AuditedHost | Promise<AuditedHost>;

/** What a run needs of the world. */
export interface AuditPorts {
  /** Never rejects; ends soon once the signal is aborted. */
  readonly fetch: (target: AuditTarget, signal: AbortSignal) => Promise<RobotsFetch>;
  readonly judge: JudgeHost;
  readonly nowMs: () => number;
  /** Takes each host's outcome as it comes; the run waits for it, so that outcomes do not pile up. */
  readonly take: (outcome: AuditedHost) => void | Promise<void>;
}

/** How many hosts are asked at a time. */
const AUDIT_CONCURRENCY = 16;

/**
 * Audits hosts, each of which is named once: so no origin has more than one request at a time. Rejects
 * only when `take` does. Once `signal` is aborted no further host is asked, and no answer is taken.
 */
export async function runAudit(
  targets: readonly AuditTarget[],
  ports: AuditPorts,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  const queue = targets.values();
  const work = async (): Promise<void> => {
    for (const target of queue) {
      const fetched = await ports.fetch(target, signal);
      // An answer that was given up says nothing about the host.
      if (signal.aborted) return;
      await ports.take(await ports.judge(target, fetched, ports.nowMs()));
    }
  };
  await Promise.all(Array.from({ length: AUDIT_CONCURRENCY }, work));
}

/** Judges an answer in this thread: a file of 500 KB takes a tenth of a second and more. */
export function judgeHost(target: AuditTarget, fetched: RobotsFetch, nowMs: number): AuditedHost {
  return outcomeOf(target, fetched, auditHost(target, fetched, nowMs));
}

/** An answer with the records that were made of it. */
export function outcomeOf(
  target: AuditTarget,
  fetched: RobotsFetch,
  records: readonly CrawlDelayRecord[],
): AuditedHost {
  if (fetched.kind === "failure") {
    return { target, records, body: undefined, cause: `${fetched.fault}: ${fetched.cause}` };
  }
  const sha256 = bodyHash(fetched) ?? "";
  return { target, records, body: { sha256, bytes: fetched.body }, cause: undefined };
}
