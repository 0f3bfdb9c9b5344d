import { type CelInput, celEnv, parse, plan } from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";
import { evaluate, parse as parseWithCelJs } from "cel-js";
import type { Bot } from "../../src/core/bot/bot.ts";
import type { CrawlRequest } from "../../src/core/request.ts";
import { type Contender, type Fact, operationsPerSecond, type Suite } from "../suite.ts";
import {
  conditionsAboutBots,
  conditionsAboutPaths,
  makeBots,
  makeEvaluator,
  makeRules,
  REQUESTS,
  SETS,
  SITE,
} from "../support/policies.ts";

/** Decides one request; the answer is the index of a rule, or what stands for it. */
type Decide = (request: CrawlRequest) => unknown;

const PEOPLE = makeBots(0);

/** A person's request against policies about crawlers: folded lists, and two evaluators as they come. */
export const suite: Suite = {
  title: "a person's request against rules about crawlers",
  unit: "decisions/s",
  seconds: 0.5,
  open: () => ({
    contenders: [
      contender("@bufbuild/cel, 5 rules", reference(conditionsAboutBots(5))),
      contender("cel-js, those of 5 it can run", celJs(conditionsAboutBots(5))),
      ...[5, 100, 1000, 5000].flatMap((count) => [
        contender(`crawlwall, ${count} rules, 1 bot`, folded(count, 1)),
        contender(`crawlwall, ${count} rules, 300 bots`, folded(count, 300)),
      ]),
      contender("crawlwall, 1000 rules about paths", aboutPaths(1000)),
      contender("@bufbuild/cel, 100 rules", reference(conditionsAboutBots(100))),
      contender("@bufbuild/cel, 1000 rules", reference(conditionsAboutBots(1000))),
      contender("@bufbuild/cel, 5000 rules", reference(conditionsAboutBots(5000))),
      contender("cel-js, those of 1000 it can run", celJs(conditionsAboutBots(1000))),
    ],
    goals: [
      goal("crawlwall, 1000 rules, 300 bots", "crawlwall, 5 rules, 1 bot", 1 / 3),
      goal("crawlwall, 1000 rules, 300 bots", "@bufbuild/cel, 1000 rules", 100),
      goal("crawlwall, 5 rules, 1 bot", "@bufbuild/cel, 5 rules", 30),
    ],
    facts: [
      fact("one decision, 1000 rules, 300 bots", microseconds(folded(1000, 300)), "µs", 1),
      fact("made by a decision, 1000 rules", bytesPerDecision(folded(1000, 300)), "bytes", 1),
      ...loadFacts(1000, 300),
    ],
    close: () => {},
  }),
};

function contender(name: string, decide: Decide): Contender {
  return { name, measure: (seconds) => rate(decide, seconds) };
}

function goal(name: string, against: string, atLeast: number) {
  return { contender: name, against, atLeast };
}

function fact(name: string, value: number, unit: string, atMost: number | undefined): Fact {
  return { name, value, unit, atMost };
}

/** The clock is looked at often enough for an evaluator that takes milliseconds. */
function rate(decide: Decide, seconds: number): number {
  const { length } = REQUESTS;
  const start = performance.now();
  decide(REQUESTS[0] ?? never());
  const batch = performance.now() - start > 0.05 ? 1 : 1000;
  return operationsPerSecond(seconds, batch, (count) =>
    decide(REQUESTS[count % length] ?? never()),
  );
}

function never(): never {
  throw new Error("there are requests");
}

function folded(count: number, bots: number): Decide {
  const all = makeBots(bots);
  const evaluator = makeEvaluator(makeRules(conditionsAboutBots(count)), all);
  return (request) => evaluator.select(all[0], "unverifiable", request, request.target.readings[0]);
}

function aboutPaths(count: number): Decide {
  const evaluator = makeEvaluator(makeRules(conditionsAboutPaths(count)), PEOPLE);
  const [person] = PEOPLE;
  return (request) => evaluator.select(person, "unverifiable", request, request.target.readings[0]);
}

/** Each condition planned once, the inputs made once a request: as its own examples show it. */
function reference(conditions: readonly string[]): Decide {
  const env = celEnv({ funcs: [...strings] });
  const plans = conditions.map((source) => plan(env, parse(source)));
  const sets: Record<string, CelInput> = Object.fromEntries(SETS);
  return (request) => {
    const inputs = { ...bindings(PEOPLE[0], request), sets };
    return plans.findIndex((run) => run(inputs) === true);
  };
}

/** Conditions of which it knows every function; an error of evaluation counts as no match. */
function celJs(conditions: readonly string[]): Decide {
  const trees = conditions
    .filter((source) => !/startsWith|exists/.test(source))
    .flatMap((source) => {
      const result = parseWithCelJs(source);
      return result.isSuccess ? [result.cst] : [];
    });
  return (request) => {
    const inputs = bindings(PEOPLE[0], request);
    return trees.findIndex((tree) => evaluate(tree, inputs) === true);
  };
}

function bindings(bot: Bot, request: CrawlRequest) {
  const [path] = request.target.readings;
  return {
    bot: {
      id: bot.id,
      name: bot.name,
      class: bot.class,
      operator: bot.operator,
      claimed: !bot.isDefault,
      verified: false,
      verification: "unverifiable",
      verifiable: false,
    },
    request: {
      host: request.host,
      method: request.method,
      path,
      query: request.target.query,
      ip: request.address.ip,
      user_agent: request.userAgent,
    },
    site: { id: SITE.id, host: SITE.hosts[0], mode: SITE.mode },
    labels: { bot_id: bot.id, host: request.host, path },
  };
}

/** Microseconds for one decision, in the best of many short runs. */
function microseconds(decide: Decide): number {
  return 1e6 / Math.max(...Array.from({ length: 40 }, () => rate(decide, 0.02)));
}

/** Heap that a decision takes, on average over a hundred thousand; noise of the runtime included. */
function bytesPerDecision(decide: Decide): number {
  const decisions = 100_000;
  const run = () => {
    for (let index = 0; index < decisions; index++) {
      decide(REQUESTS[index % REQUESTS.length] ?? never());
    }
  };
  run();
  const taken = Array.from({ length: 5 }, () => {
    const before = process.memoryUsage().heapUsed;
    run();
    return (process.memoryUsage().heapUsed - before) / decisions;
  });
  return Math.max(0, Math.min(...taken.map(Math.abs)));
}

/** Processor time of this thread, in ms: what else the machine does is not counted. */
function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

function loadFacts(count: number, bots: number): readonly Fact[] {
  const conditions = conditionsAboutBots(count);
  const start = processorMs();
  const rules = makeRules(conditions);
  const checked = processorMs();
  const evaluator = makeEvaluator(rules, makeBots(bots));
  const made = processorMs();
  evaluator.prepare();
  const prepared = processorMs();
  const name = `${count} rules`;
  return [
    fact(`parse and check ${name}`, checked - start, "ms", undefined),
    fact(`make ${name} ready to serve`, made - checked, "ms", 50),
    fact(`all lists, ${name}, ${bots} bots`, prepared - made, "ms", undefined),
    fact(`load ${name}, ${bots} bots`, prepared - start, "ms", 3000),
  ];
}
