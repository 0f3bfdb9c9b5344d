import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { compilePolicies } from "../../../src/core/policy/compile.ts";
import { createGate } from "../../../src/gate.ts";
import { openVerifier } from "../../../src/io/verify/verifier.ts";
import { requestFrom } from "./support/claims.ts";

const POLICY = `
site: {id: docs, host: "*", mode: enforce}
bots:
  - id: examplebot
    name: ExampleBot
    class: search
    match: {user_agents: [ExampleBot]}
    verify: {type: static_ranges, cidrs: [203.0.113.0/28]}
rules:
  - id: hidden_crawler
    priority: 1
    when: size(bot.by_ip) > 0 && !bot.claimed
    action: {type: block, status: 403, reason: hidden_crawler}
`;

test("a crawler that hides behind a browser's name is known by its address", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "crawlwall-by-ip-"));
  const compiled = compilePolicies([{ file: "site.yaml", text: POLICY }], { catalog: new Map() });
  if (compiled.kind === "faulty") throw new Error(JSON.stringify(compiled.errors));
  const [policy] = compiled.policies;
  if (policy === undefined) throw new Error("no policy");
  const verifier = openVerifier({
    dataDir,
    dnsServers: undefined,
    timeoutMs: 500,
    allowInsecureSources: false,
  });
  verifier.configure([policy]);
  const gate = createGate({
    verifier,
    spend: () => ({ refused: -1, retryAfterMs: 0, spent: [] }),
    record: () => undefined,
    seal: async (event) => event,
    newEventId: () => "id",
    nowMs: () => 0,
    monotonicMs: () => 0,
  });
  const ruleFor = async (ip: string, userAgent: string): Promise<string> => {
    const request = { ...requestFrom(ip), userAgent };
    const outcome = await gate.judge({ policy, request, requestId: undefined, startedMs: 0 });
    return outcome.decision.ruleId;
  };
  expect(await ruleFor("203.0.113.7", "Mozilla/5.0")).toBe("hidden_crawler");
  expect(await ruleFor("203.0.113.7", "ExampleBot/1.0")).toBe("runtime.default_action");
  expect(await ruleFor("198.51.100.1", "Mozilla/5.0")).toBe("runtime.default_action");
  verifier.close();
  await rm(dataDir, { recursive: true, force: true });
});
