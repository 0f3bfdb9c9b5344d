import type { Bot, BotVerifier } from "../../src/core/bot/bot.ts";
import type { Catalog, CatalogEntry } from "../../src/core/bot/catalog.ts";
import { createMatcher } from "../../src/core/bot/identify.ts";

/** Something about an entry that a maintainer should mend, or know. */
export interface Finding {
  readonly id: string;
  readonly message: string;
}

/** Words of browsers and of everyday language, which may not be a whole token. */
const COMMON_WORDS: ReadonlySet<string> = new Set(
  "agent android app bot browser chrome code crawler devin edge expanse feed fetcher firefox google \
http iphone java like linux mobile mozilla news openai operator opera preview robot safari scanner \
search spider version viber windows yeti".split(" "),
);

/**
 * What is wrong with a catalog: examples that claim another crawler or none, counterexamples that
 * claim it, tokens that never win, tokens that claim one of the `browsers`, or are everyday words,
 * and addresses that are not https.
 */
export function reviewCatalog(catalog: Catalog, browsers: readonly string[]): readonly Finding[] {
  const entries = [...catalog.values()];
  const claimOf = createMatcher(entries.map(({ bot }) => bot));
  const claimedBy = (userAgent: string): string => claimOf(userAgent)?.bot.id ?? "nobody";
  return [
    ...entries.flatMap((entry) => reviewExamples(entry, claimedBy)),
    ...entries.flatMap((entry) => reviewTokens(entry, claimedBy)),
    ...entries.flatMap(({ bot }) => bot.verifiers.flatMap((proof) => reviewProof(bot, proof))),
    ...browsers.flatMap((browser) => {
      const claim = claimOf(browser);
      if (claim === undefined) return [];
      return [
        { id: claim.bot.id, message: `\`${claim.token}\` claims the browser \`${browser}\`` },
      ];
    }),
  ];
}

function reviewExamples(
  { bot, examples, counterexamples }: CatalogEntry,
  claimedBy: (userAgent: string) => string,
): readonly Finding[] {
  const lost = examples
    .filter((example) => claimedBy(example) !== bot.id)
    .map((example) => `its example \`${example}\` claims ${claimedBy(example)}`);
  const wrong = counterexamples
    .filter((example) => claimedBy(example) === bot.id)
    .map((example) => `its counterexample \`${example}\` claims it`);
  return [...lost, ...wrong].map((message) => ({ id: bot.id, message }));
}

function reviewTokens(
  { bot, kind }: CatalogEntry,
  claimedBy: (userAgent: string) => string,
): readonly Finding[] {
  const { userAgents, anchored, exact } = bot.match;
  const tokens = [...userAgents, ...anchored, ...exact];
  const shadowed = tokens
    .filter((token) => claimedBy(token) !== bot.id)
    .map((token) => `its token \`${token}\` claims ${claimedBy(token)}`);
  const common = [...userAgents, ...anchored]
    .filter((token) => userAgents.includes(token) && COMMON_WORDS.has(token.toLowerCase()))
    .map((token) => `its token \`${token}\` is an everyday word; write \`exact\` or more of it`);
  const none = tokens.length === 0 && kind !== "no_user_agent" ? ["it has no token"] : [];
  return [...shadowed, ...common, ...none].map((message) => ({ id: bot.id, message }));
}

function reviewProof({ id }: Bot, proof: BotVerifier): readonly Finding[] {
  return urlsOf(proof)
    .filter((url) => !url.startsWith("https://"))
    .map((url) => ({
      id,
      message: `\`${url}\` is not https, so that anybody on the way can answer`,
    }));
}

function urlsOf(proof: BotVerifier): readonly string[] {
  switch (proof.kind) {
    case "ip_ranges":
      return proof.sources.flatMap((source) => (source.kind === "url" ? [source.url] : []));
    case "web_bot_auth":
      return proof.directories;
    case "reverse_dns":
    case "static_ranges":
      return [];
  }
}

/** Entries whose facts were last checked more than so many days before `today` (`YYYY-MM-DD`). */
export function olderThan(catalog: Catalog, days: number, today: string): readonly Finding[] {
  return [...catalog.values()]
    .map(({ bot, checked }) => ({ id: bot.id, checked, age: daysBetween(checked, today) }))
    .filter(({ age }) => age > days)
    .map(({ id, checked, age }) => ({
      id,
      message: `last checked on ${checked}, ${age} days ago`,
    }));
}

function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000);
}

/** Examples of one crawler that, in a policy without it, would claim another. */
export function overlaps(catalog: Catalog): readonly Finding[] {
  const entries = [...catalog.values()];
  const matchers = entries.map(({ bot }) => ({ id: bot.id, claims: createMatcher([bot]) }));
  return entries.flatMap(({ bot, examples }) =>
    examples.flatMap((example) =>
      matchers
        .filter(({ id, claims }) => id !== bot.id && claims(example) !== undefined)
        .map(({ id }) => ({ id: bot.id, message: `would claim ${id} by \`${example}\`` })),
    ),
  );
}
