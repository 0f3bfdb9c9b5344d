import { compilePolicy } from "../../src/core/policy/compile.ts";
import type { Policy } from "../../src/core/policy/policy.ts";
import { generateRobots } from "../../src/core/robots/generate.ts";
import type { Contender, Fact, Suite } from "../suite.ts";

/** Making robots.txt from large policies; it happens at a load, never for a request. */
export const suite: Suite = {
  title: "robots.txt from policies of many rules and crawlers",
  unit: "files/s",
  seconds: 2,
  open: () => {
    const large = policyOf(1000, 300);
    const contenders: readonly [Contender, ...Contender[]] = [
      contender("20 rules, 20 crawlers", policyOf(20, 20)),
      contender("1,000 rules, 1 crawler", policyOf(1000, 1)),
      contender("100 rules, 300 crawlers", policyOf(100, 300)),
    ];
    return { contenders, goals: [], facts: [firstFile(large)], close: () => undefined };
  },
};

function contender(name: string, policy: Policy): Contender {
  return {
    name,
    measure: (seconds) => {
      const start = performance.now();
      let count = 0;
      do {
        generateRobots(policy, "site.test");
        count++;
      } while (performance.now() - start < seconds * 1000);
      return (count / (performance.now() - start)) * 1000;
    },
  };
}

/** Of the processor, since others of a busy machine would count otherwise. */
function firstFile(policy: Policy): Fact {
  const start = process.cpuUsage();
  generateRobots(policy, "site.test");
  const { user, system } = process.cpuUsage(start);
  const value = (user + system) / 1e6;
  return { name: "1,000 rules, 300 crawlers, the first time", value, unit: "s CPU", atMost: 2 };
}

/** Rules about one crawler, about a class of them, and about all; blocks and exceptions. */
function policyOf(rules: number, bots: number): Policy {
  const lines = Array.from({ length: rules }, (_, n) => {
    const [when, action] = ruleOf(n, bots);
    const text = JSON.stringify(when);
    return `  - { id: r${n}, priority: ${n}, when: ${text}, action: ${action} }`;
  });
  const crawlers = Array.from(
    { length: bots },
    (_, n) =>
      `  - { id: b${n}, class: c${n % 7}, match: { user_agents: [Crawler${n}] }, verify: none }`,
  );
  const text = `
site: { id: bench, host: site.test, mode: enforce }
bots:
${crawlers.join("\n")}
rules:
${lines.join("\n")}
`;
  const compiled = compilePolicy({ file: "bench.yaml", text }, { catalog: new Map() });
  if (compiled.kind === "faulty") throw new Error(compiled.errors[0]?.message);
  return compiled.policy;
}

const BLOCK = "{ type: block, reason: closed }";

function ruleOf(n: number, bots: number): readonly [when: string, action: string] {
  switch (n % 4) {
    case 0:
      return [`bot.id == "b${n % bots}" && request.path.startsWith("/own/${n}")`, BLOCK];
    case 1:
      return [`bot.class == "c${n % 7}" && request.path == "/class/${n}"`, BLOCK];
    case 2:
      return [`request.path.startsWith("/all/${n}")`, BLOCK];
    default:
      return [`pathUnder(request.path, "/all/${n - 1}/open")`, "allow"];
  }
}
