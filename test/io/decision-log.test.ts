import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { openDecisionLog } from "../../src/io/decision-log.ts";
import { policyFrom } from "../support/compile.ts";
import { requestFor, testGate } from "../support/visits.ts";

/** Linux's file that is always full. */
const FULL = "/dev/full";

test.runIf(existsSync(FULL))(
  "a log that cannot be written is told of, and still closes",
  async () => {
    const gate = testGate({ kind: "settled", verification: "unverifiable" });
    const policy = policyFrom("site: { id: docs, host: docs.example.com }\n");
    const { event } = await gate.judge(policy, requestFor());
    const causes: string[] = [];
    const log = await openDecisionLog({
      file: FULL,
      ip: "full",
      hashAddress: (ip) => ip,
      onError: (error) => causes.push(error.message),
    });
    log.record(event);
    await log.close();
    expect(causes).toContainEqual(expect.stringContaining("ENOSPC"));
  },
);
