import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { VERIFICATIONS, type Verification } from "../src/core/bot/bot.ts";
import type { Decision } from "../src/core/decision.ts";
import type { Policy } from "../src/core/policy/policy.ts";
import type { CrawlRequest } from "../src/core/request.ts";
import type { SpendPort } from "../src/gate.ts";
import { policyFrom } from "./support/compile.ts";
import { type Findings, requestFor, TESTBOT, testGate } from "./support/visits.ts";

const BLOCK = "{ type: block, status: 403, reason: refused }";
const GONE = "{ type: block, status: 410, reason: gone }";
const METERED = '{ type: allow_metered, price: { amount: "0.30", currency: USD, unit: request } }';
const limited = (key: string): string => `{ type: rate_limit, limit: { key: ${key}, rpm: 1 } }`;

/** Conditions, actions and more of a rule: each way in which an outcome can reach an answer. */
const RULES: readonly string[] = [
  `when: bot.claimed && !bot.verified, action: ${BLOCK}`,
  "when: bot.verified, action: { type: allow }",
  `when: bot.verification == "refuted", action: ${GONE}`,
  `when: bot.verification == "unavailable", action: ${limited("request.ip")}`,
  `when: 'bot.verification in ["unverifiable", "unavailable"]', action: ${BLOCK}`,
  `when: 'request.path.startsWith("/archive") && !bot.verified', action: ${GONE}`,
  `when: 'request.path.startsWith("/archive")', action: ${BLOCK}`,
  `when: bot.claimed, action: ${limited("bot.verification")}`,
  `when: bot.claimed, action: ${limited("bot.id")}`,
  `when: 'request.headers["x-absent"] == "1" || bot.verified', action: ${METERED}`,
  `when: 'request.path == "/secret"', action: ${limited("bot.verified")}, mode: shadow`,
  `when: bot.claimed && !bot.verified, action: ${BLOCK}, mode: shadow`,
  `when: bot.claimed, action: ${limited("bot.verification")}, mode: shadow`,
  `when: bot.claimed, action: ${METERED}, audit: { receipt: true }`,
  `when: 'request.path == "/archive/a"', action: ${limited("bot.id")}, audit: { receipt: true }`,
  `when: bot.verified, action: ${BLOCK}, audit: { receipt: true }`,
  `when: 'request.path.startsWith("/archive/a;")', action: ${METERED}`,
];

function policyOf(rules: readonly string[], failMode: string): Policy {
  const lines = rules.map((rule, index) => `- { id: rule_${index}, priority: ${index}, ${rule} }`);
  return policyFrom(`
site: { id: docs, host: docs.example.com, mode: enforce }
runtime: { fail_mode: ${failMode} }
${TESTBOT}
rules:
${lines.join("\n")}
`);
}

const REQUESTS: readonly CrawlRequest[] = [
  requestFor({ userAgent: "TestBot/1.0", uri: "/archive/a" }),
  // Several readings: below /archive in one, /secret in another.
  requestFor({ userAgent: "TestBot/1.0", uri: "/archive/..%2f../secret" }),
  requestFor({ userAgent: "TestBot/1.0", uri: "/archive/a;x" }),
  requestFor({ uri: "/archive/a" }),
];

/** What can come of the verifiers of a bot: every choice of two outcomes or more. */
const POSSIBLE: readonly (readonly Verification[])[] = Array.from({ length: 16 }, (_, bits) =>
  VERIFICATIONS.filter((_outcome, index) => (bits >> index) % 2 === 1),
).filter((outcomes) => outcomes.length > 1);

/** All that a client, the buckets and the record of shadow rules get to see. */
interface Judged {
  readonly decisions: readonly Decision[];
  readonly buckets: readonly string[];
  /** Whether a rule that decides, or whose bucket may refuse, asks for a receipt. */
  readonly mayBeSealed: boolean;
}

/** Buckets of one token, never refilled: several thousand gates are made, and each starts afresh. */
function oneTokenEach(): SpendPort {
  const empty = new Set<string>();
  return (charges) => {
    const refused = charges.findIndex(({ bucket, shadow }) => !shadow && empty.has(bucket));
    const spent = charges.map(({ bucket, shadow }) => !(shadow && empty.has(bucket)));
    for (const { bucket, shadow } of charges) if (shadow || refused < 0) empty.add(bucket);
    return { refused, retryAfterMs: refused < 0 ? 0 : 60_000, spent };
  };
}

/** Two requests in a row: the second meets the buckets that the first has emptied. */
async function judgeTwice(policy: Policy, request: CrawlRequest, findings: Findings) {
  const gate = testGate(findings, oneTokenEach());
  const first = await gate.judge(policy, request);
  const second = await gate.judge(policy, request);
  const limiting = new Set(gate.charges.filter(({ shadow }) => !shadow).map((of) => of.ruleId));
  const judged: Judged = {
    decisions: [first.decision, second.decision],
    mayBeSealed:
      first.decision.receipt || policy.rules.some(({ id, receipt }) => receipt && limiting.has(id)),
    buckets: gate.charges.map((charge) => charge.bucket),
  };
  return { judged, proofs: gate.asked() };
}

interface Tally {
  readonly skipped: number;
  readonly asked: number;
}

/** Holds the gate that skips proof to the one that always has it, for all that verifiers can find. */
async function compareGates(policy: Policy, request: CrawlRequest): Promise<Tally> {
  const eager = new Map<Verification, Judged>();
  for (const verification of VERIFICATIONS) {
    const { judged } = await judgeTwice(policy, request, { kind: "settled", verification });
    eager.set(verification, judged);
  }
  let skipped = 0;
  let asked = 0;
  for (const possible of POSSIBLE) {
    const answers = possible.map((outcome) => eager.get(outcome));
    for (const comes of possible) {
      const lazy = await judgeTwice(policy, request, { kind: "open", possible, comes });
      const isSame = isDeepStrictEqual(lazy.judged, eager.get(comes));
      // Node's comparison is the faster one; a difference is shown by the test runner's.
      if (!isSame) expect(lazy.judged, `${possible.join()}: ${comes}`).toEqual(eager.get(comes));
      const isClaimed = request.userAgent !== "";
      const isSealed = answers.some((answer) => answer?.mayBeSealed);
      const differ = answers.some((answer) => !isDeepStrictEqual(answer, answers[0]));
      expect(lazy.proofs > 0, `asked for ${possible.join()}`).toBe(
        isClaimed && (differ || isSealed),
      );
      if (lazy.proofs > 0) asked += 1;
      else skipped += 1;
    }
  }
  return { skipped, asked };
}

async function compareAll(rules: readonly string[]): Promise<Tally> {
  let [skipped, asked] = [0, 0];
  for (const failMode of ["block", "allow"]) {
    const policy = policyOf(rules, failMode);
    for (const request of REQUESTS) {
      const tally = await compareGates(policy, request);
      skipped += tally.skipped;
      asked += tally.asked;
    }
  }
  return { skipped, asked };
}

test.each(RULES)("with `%s`, skipping proof changes no answer", async (rule) => {
  let skipped = 0;
  for (const behind of RULES) skipped += (await compareAll([rule, behind])).skipped;
  expect(skipped).toBeGreaterThan(0);
});

test("with more rules skipping proof changes no answer, and proof is never asked in vain", async () => {
  const policies = fc.uniqueArray(fc.constantFrom(...RULES), { minLength: 3, maxLength: 6 });
  let asked = 0;
  await fc.assert(
    fc.asyncProperty(policies, async (rules) => {
      asked += (await compareAll(rules)).asked;
    }),
    { numRuns: 40 },
  );
  expect(asked).toBeGreaterThan(0);
});
