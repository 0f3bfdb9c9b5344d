import { expect, test } from "vitest";
import { compilePolicy } from "../../../src/core/policy/compile.ts";
import { type PolicyParts, policySteps } from "../../../src/core/policy/create-policy.ts";
import type { Steps } from "../../../src/core/steps.ts";

const RULES = 1000;
const TOKEN = "CrawlerOfTheLongName";

function parts(): PolicyParts {
  const rules = Array.from(
    { length: RULES },
    (_, index) => `
- { id: r${index}, priority: ${index}, when: 'bot.claimed && request.path == "/${index}"', action: { type: allow } }`,
  );
  const text = `
site: { id: docs, host: docs.example.com, mode: enforce }
bots:
- { id: own, name: Own, class: search, match: { user_agents: [${TOKEN}] }, verify: none }
rules:${rules.join("")}
`;
  const world = { catalog: new Map(), hasFile: () => true };
  const compiled = compilePolicy({ file: "policy.yaml", text }, world);
  if (compiled.kind === "faulty") throw new Error(JSON.stringify(compiled.errors));
  return compiled.policy;
}

function count<Result>(steps: Steps<Result>): { readonly result: Result; readonly count: number } {
  let done = 0;
  let step = steps.next();
  while (step.done !== true) {
    done += 1;
    step = steps.next();
  }
  return { result: step.value, count: done };
}

test("who makes a policy is never kept longer than for a rule, or a letter of a bot's name", () => {
  const { count: steps } = count(policySteps(parts()));
  expect(steps).toBeGreaterThan(RULES + TOKEN.length);
});

test("a crawler's rules are made ready in many short steps, and only once", () => {
  const { result: policy } = count(policySteps(parts()));
  const own = policy.identify(TOKEN);
  expect(own.id).toBe("own");
  expect(count(policy.evaluator.warm(own, "unverifiable")).count).toBeGreaterThanOrEqual(10);
  expect(count(policy.evaluator.warm(own, "unverifiable")).count).toBe(0);
});
