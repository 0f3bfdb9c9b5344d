import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { answerUnder } from "../../src/core/policy/answer.ts";
import { completeLoading } from "../../src/load/loaded.ts";
import { createLoader, type Loader } from "../../src/load/thread.ts";
import { loadPolicies } from "../../src/load.ts";
import { requestFor } from "../support/visits.ts";

let folder: string;
let loader: Loader;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "crawlwall-load-"));
  loader = createLoader();
});

afterEach(() => {
  loader.close();
  rmSync(folder, { recursive: true });
});

function policyFile(text: string): string {
  const file = join(folder, "policy.yaml");
  writeFileSync(file, text);
  return file;
}

const RULES = Array.from(
  { length: 120 },
  (_, index) => `
- id: rule${index}
  priority: ${index}
  when: bot.claimed && sets.numbers.exists(n, n == ${index}) && request.path.startsWith("/p${index}/")
  action: { type: block, status: 403, reason: r${index} }`,
).join("");

const POLICY = `
site: { id: docs, host: docs.example.com, mode: enforce }
robots: { serve: true }
bots:
- { use: googlebot }
- { id: own, name: Own, class: search, match: { user_agents: [OwnBot] }, verify: none }
sets: { numbers: [${Array.from({ length: 120 }, (_, index) => index).join(", ")}] }
rules:${RULES}
`;

test("what comes out of the thread decides as what is loaded at once", async () => {
  const file = policyFile(POLICY);
  const beside = await loader.load(file);
  const atOnce = loadPolicies(file);
  if (beside.kind !== "loaded" || atOnce.kind !== "loaded") throw new Error("not loaded");
  const [first] = beside.policies;
  const [expected] = atOnce.policies.map(completeLoading);
  if (first === undefined || expected === undefined) throw new Error("no policy");
  const { policy, document, robots } = first;
  expect(document).toBe(expected.document);
  expect(robots).toEqual(expected.robots);
  expect(policy.hash).toBe(expected.policy.hash);
  expect(policy.identify("OwnBot/1.0").id).toBe("own");
  for (const index of [0, 49, 50, 119]) {
    const request = requestFor({ uri: `/p${index}/a`, userAgent: "OwnBot/1.0" });
    const bot = policy.identify(request.userAgent);
    const answer = answerUnder(policy, { bot, verification: "unverifiable" }, request);
    expect(answer.rule.id).toBe(`rule${index}`);
  }
});

test("faults come as they would at the start, every one of them", async () => {
  const file = policyFile(POLICY.replace("bot.claimed", "bot.clamed").replace("serve:", "srve:"));
  const atOnce = loadPolicies(file);
  const beside = await loader.load(file);
  if (atOnce.kind !== "faulty") throw new Error("faults expected");
  expect(beside).toEqual({ kind: "faulty", faults: atOnce.faults });
  expect(atOnce.faults.length).toBeGreaterThan(1);
});

test("a file that is not there is a fault, and the next load works", async () => {
  expect(await loader.load(join(folder, "none.yaml"))).toMatchObject({ kind: "faulty" });
  expect(await loader.load(policyFile(POLICY))).toMatchObject({ kind: "loaded" });
});

test("loads that are asked for at once come one after another, whole", async () => {
  const file = policyFile(POLICY);
  const loaded = await Promise.all([loader.load(file), loader.load(file), loader.load(file)]);
  expect(loaded.map((set) => (set.kind === "loaded" ? set.policies.length : 0))).toEqual([1, 1, 1]);
});
