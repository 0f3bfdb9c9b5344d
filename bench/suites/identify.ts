import { readdirSync, readFileSync } from "node:fs";
import type { Bot } from "../../src/core/bot/bot.ts";
import { parseCatalog } from "../../src/core/bot/catalog.ts";
import { createIdentifier } from "../../src/core/bot/identify.ts";
import { UNKNOWN_BOT } from "../../src/core/policy/schema/bots.ts";
import { type Contender, type Fact, operationsPerSecond, type Suite } from "../suite.ts";

const CATALOG = new URL("../../policies/catalog/", import.meta.url);
const LABELLED = new URL("../../test/fixtures/user-agents/labelled.tsv", import.meta.url);

type Identify = (userAgent: string) => Bot;

/** A User-Agent against the catalog: a loop over all tokens, and the automaton with its cache. */
export const suite: Suite = {
  title: "one User-Agent against the catalog of crawlers",
  unit: "User-Agents/s",
  seconds: 1,
  open: () => {
    const catalog = readBots();
    const distinct = distinctUserAgents();
    const everyday = distinct.slice(0, 200);
    const whole = createIdentifier(catalog, UNKNOWN_BOT);
    return {
      contenders: [
        contender("loop over all tokens", loopOverTokens(catalog), distinct),
        contender("never seen, whole catalog", whole, distinct),
        contender(
          "never seen, 10 bots",
          createIdentifier(some(catalog, 10), UNKNOWN_BOT),
          distinct,
        ),
        contender(
          "never seen, 300 bots",
          createIdentifier(some(catalog, 300), UNKNOWN_BOT),
          distinct,
        ),
        contender("seen before", createIdentifier(catalog, UNKNOWN_BOT), everyday),
      ],
      goals: [
        { contender: "never seen, 300 bots", against: "never seen, 10 bots", atLeast: 1 / 3 },
        { contender: "seen before", against: "never seen, whole catalog", atLeast: 1 },
      ],
      facts: [
        duration("one never seen, whole catalog", 5, whole, distinct),
        duration("one seen before", 1, createIdentifier(catalog, UNKNOWN_BOT), everyday),
        duration("one of 64 KiB", 100, whole, ["Googlebo ".repeat(7282)]),
      ],
      close: () => {},
    };
  },
};

function contender(name: string, identify: Identify, userAgents: readonly string[]): Contender {
  return { name, measure: (seconds) => rate(identify, userAgents, seconds) };
}

function rate(identify: Identify, userAgents: readonly string[], seconds: number): number {
  const { length } = userAgents;
  return operationsPerSecond(seconds, 200, (count) => identify(userAgents[count % length] ?? ""));
}

/** Microseconds for one, in the best of many short runs: what else the machine does falls away. */
function duration(
  name: string,
  atMost: number,
  identify: Identify,
  userAgents: readonly string[],
): Fact {
  const rates = Array.from({ length: 60 }, () => rate(identify, userAgents, 0.02));
  return { name, value: 1e6 / Math.max(...rates), unit: "µs", atMost };
}

function loopOverTokens(bots: readonly Bot[]): Identify {
  const tokens = bots.flatMap((bot) =>
    bot.match.userAgents.map((token) => ({ bot, token: token.toLowerCase() })),
  );
  return (userAgent) => {
    const text = userAgent.toLowerCase();
    let best = { bot: UNKNOWN_BOT, token: "" };
    for (const each of tokens) {
      if (each.token.length > best.token.length && text.includes(each.token)) best = each;
    }
    return best.bot;
  };
}

/** So many of the catalog's bots, evenly, and made-up ones where it has no more. */
function some(catalog: readonly Bot[], count: number): readonly Bot[] {
  return Array.from({ length: count }, (_, index) => {
    const bot =
      catalog[count < catalog.length ? Math.floor((index * catalog.length) / count) : index];
    if (bot !== undefined) return bot;
    const userAgents = [`MadeUp${index}Bot`];
    return {
      ...UNKNOWN_BOT,
      id: `made-up-${index}`,
      isDefault: false,
      match: { ...UNKNOWN_BOT.match, userAgents },
    };
  });
}

/** More values than the cache holds, so that each comes as one never seen. */
function distinctUserAgents(): readonly string[] {
  const known = readFileSync(LABELLED, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => line.slice(line.indexOf("\t") + 1));
  return Array.from({ length: 20_000 }, (_, index) => {
    const userAgent = known[index % known.length] ?? "";
    return Buffer.from(`${userAgent} v${index}`).toString("latin1");
  });
}

function readBots(): readonly Bot[] {
  const parsed = parseCatalog(
    readdirSync(CATALOG)
      .sort()
      .map((file) => ({ file, text: readFileSync(new URL(file, CATALOG), "utf8") })),
  );
  if (parsed.kind === "faulty") throw new Error("the catalog has faults");
  return [...parsed.catalog.values()].map(({ bot }) => bot);
}
