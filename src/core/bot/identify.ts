import { LRUCache } from "lru-cache";
import { finish, type Steps } from "../steps.ts";
import { type Automaton, automatonSteps } from "./automaton.ts";
import type { Bot } from "./bot.ts";
import { foldCase, plainUserAgent, USER_AGENT_LIMIT } from "./user-agent.ts";

/** A User-Agent's claim to be a bot, and the token that makes it, as the policy or catalog writes it. */
export interface Claim {
  readonly bot: Bot;
  readonly token: string;
}

const CACHE_BYTES = 524_288;
const CACHED_LENGTH = 512;
/** What the cache spends on an entry besides its text, about. */
const ENTRY_BYTES = 128;

/**
 * Tells which bot a User-Agent claims to be, as `createMatcher` does, or the default bot when it
 * claims none. Answers for the User-Agents seen last are kept in 512 KiB at most; one longer than 512
 * chars is judged anew each time, so that it pins no memory.
 */
export function createIdentifier(
  bots: readonly Bot[],
  defaultBot: Bot,
): (userAgent: string) => Bot {
  return finish(identifierSteps(bots, defaultBot));
}

/** As `createIdentifier`, in steps. */
export function* identifierSteps(
  bots: readonly Bot[],
  defaultBot: Bot,
): Steps<(userAgent: string) => Bot> {
  const match = yield* matcherSteps(bots);
  const seen = new LRUCache<string, Bot>({
    max: CACHE_BYTES / ENTRY_BYTES,
    maxSize: CACHE_BYTES,
    sizeCalculation: (_bot, userAgent) => userAgent.length + ENTRY_BYTES,
  });
  return (userAgent) => {
    if (userAgent.length > CACHED_LENGTH) return match(userAgent)?.bot ?? defaultBot;
    const known = seen.get(userAgent);
    if (known !== undefined) return known;
    const bot = match(userAgent)?.bot ?? defaultBot;
    seen.set(userAgent, bot);
    return bot;
  };
}

/**
 * Tells the claim that a User-Agent makes, by the bots' tokens in any ASCII case: the longest token
 * wins, then the bot that stands first. A token counts at boundaries: before it no letter, digit, `-`
 * or `_`; after it no letter, nor `-` and a letter. Where the token itself begins or ends with a mark,
 * no boundary is needed. A bot's `mustNot` found anywhere takes its claim back. Time is linear in the
 * User-Agent, of which 2 KiB count, and does not grow with the number of bots.
 */
export function createMatcher(bots: readonly Bot[]): (userAgent: string) => Claim | undefined {
  return finish(matcherSteps(bots));
}

function* matcherSteps(bots: readonly Bot[]): Steps<(userAgent: string) => Claim | undefined> {
  const words = bots.filter((bot) => !bot.isDefault).flatMap(wordsOf);
  const automaton = yield* automatonSteps(words);
  return (userAgent) => strongest(find(automaton, plainUserAgent(userAgent)));
}

/** A text that claims a bot, or takes its claim back. */
interface Word {
  /** In bytes, ASCII letters in lower case. */
  readonly text: string;
  readonly claim: Claim;
  readonly role: "token" | "anchored" | "exact" | "veto";
  /** Whether a boundary must be before it, after it. */
  readonly bounds: readonly [before: boolean, after: boolean];
  /** The place of its bot among the bots. */
  readonly order: number;
}

function wordsOf(bot: Bot, order: number): readonly Word[] {
  const { userAgents, anchored, exact, mustNot } = bot.match;
  return [
    ...userAgents.map((token) => toWord(bot, order, token, "token")),
    ...anchored.map((token) => toWord(bot, order, token, "anchored")),
    ...exact.map((token) => toWord(bot, order, token, "exact")),
    ...mustNot.map((token) => toWord(bot, order, token, "veto")),
  ].filter((word) => word.text !== "");
}

function toWord(bot: Bot, order: number, token: string, role: Word["role"]): Word {
  const text = foldCase(plainUserAgent(token));
  const bounds = [
    isLetterOrDigit(text.charCodeAt(0)),
    isLetterOrDigit(text.charCodeAt(text.length - 1)),
  ] as const;
  return { text, claim: { bot, token }, role, bounds, order };
}

/** The words that stand in a text where they count, in order of their ends. */
function find(automaton: Automaton<Word>, text: string): readonly Word[] {
  const { columns, width, next, found } = automaton;
  const end = Math.min(text.length, USER_AGENT_LIMIT);
  const hits: Word[] = [];
  let state = 0;
  for (let index = 0; index < end; index++) {
    state = next[state * width + (columns[text.charCodeAt(index)] ?? 0)] ?? 0;
    const endings = found[state];
    if (endings === undefined) continue;
    for (const word of endings) {
      if (stands(word, text, index + 1, end)) hits.push(word);
    }
  }
  return hits;
}

/** Whether a word that stops before `stop` stands where it counts, in a text that stops before `end`. */
function stands(word: Word, text: string, stop: number, end: number): boolean {
  const start = stop - word.text.length;
  switch (word.role) {
    case "veto":
      return true;
    case "exact":
      return start === 0 && stop === end;
    case "anchored":
      return start === 0 && isBoundaryAfter(word, text, stop, end);
    case "token":
      return isBoundaryBefore(word, text, start) && isBoundaryAfter(word, text, stop, end);
  }
}

function isBoundaryBefore(word: Word, text: string, start: number): boolean {
  if (!word.bounds[0] || start === 0) return true;
  const before = text.charCodeAt(start - 1);
  return !isLetterOrDigit(before) && before !== HYPHEN && before !== UNDERSCORE;
}

function isBoundaryAfter(word: Word, text: string, stop: number, end: number): boolean {
  if (!word.bounds[1] || stop === end) return true;
  const after = text.charCodeAt(stop);
  if (after === HYPHEN) return stop + 1 === end || !isLetter(text.charCodeAt(stop + 1));
  return !isLetter(after);
}

const HYPHEN = 45;
const UNDERSCORE = 95;

function isLetter(code: number): boolean {
  const lower = code | 32;
  return lower >= 97 && lower <= 122;
}

function isLetterOrDigit(code: number): boolean {
  return isLetter(code) || (code >= 48 && code <= 57);
}

/** The claim of the longest word whose bot is not vetoed; of equally long ones, the first bot's. */
function strongest(hits: readonly Word[]): Claim | undefined {
  let best: Word | undefined;
  for (const word of hits) {
    const isBetter = best === undefined || isStronger(word, best);
    if (isBetter && word.role !== "veto" && !isVetoed(word, hits)) best = word;
  }
  return best?.claim;
}

function isStronger(word: Word, other: Word): boolean {
  const longer = word.text.length - other.text.length;
  return longer > 0 || (longer === 0 && word.order < other.order);
}

function isVetoed({ claim: { bot } }: Word, hits: readonly Word[]): boolean {
  if (bot.match.mustNot.length === 0) return false;
  return hits.some(({ role, claim }) => role === "veto" && claim.bot === bot);
}
