import type { Bot } from "../bot/bot.ts";
import { type Catalog, resolveUse } from "../bot/catalog.ts";
import type { Path } from "../yaml/document.ts";
import { type BotOverrides, type BotSource, UNKNOWN_BOT } from "./schema/bots.ts";

/** Something to say about `bots`, below the document's root. */
interface BotProblem {
  readonly path: Path;
  readonly message: string;
}

/** The bots of a policy: those named, the one that stands for nobody known, and what is wrong. */
export interface BotTable {
  readonly bots: readonly Bot[];
  /** The same bots, the policy's own first: of equal tokens theirs wins. */
  readonly claimants: readonly Bot[];
  readonly defaultBot: Bot;
  /** Where in the file each bot was written, by id. */
  readonly indexes: ReadonlyMap<string, number>;
  readonly errors: readonly BotProblem[];
}

interface Candidate {
  readonly bot: Bot;
  readonly index: number;
  readonly path: Path;
  /** An own entry beats one chosen by id, which beats one chosen by class, which beats `all`. */
  readonly rank: number;
}

/** Resolves `use:` and finds bots that are written twice; faulty entries are undefined. */
export function compileBots(
  sources: readonly (BotSource | undefined)[],
  world: { readonly catalog: Catalog },
): BotTable {
  const errors: BotProblem[] = [];
  const candidates: Candidate[] = [];
  for (const [index, source] of sources.entries()) {
    if (source === undefined) continue;
    if (source.kind === "own") {
      candidates.push({ bot: source.bot, index, path: ["bots", index, "id"], rank: 0 });
      continue;
    }
    const used = takeFromCatalog(source, index, world.catalog);
    candidates.push(...used.candidates);
    errors.push(...used.errors);
  }
  const chosen = choose(candidates, errors);
  const all = [...chosen.values()].toSorted((left, right) => left.index - right.index);
  return {
    bots: all.map(({ bot }) => bot).filter((bot) => !bot.isDefault),
    claimants: [...chosen.values()].map(({ bot }) => bot).filter((bot) => !bot.isDefault),
    defaultBot: all.find(({ bot }) => bot.isDefault)?.bot ?? UNKNOWN_BOT,
    indexes: new Map(all.map(({ bot, index }) => [bot.id, index])),
    errors,
  };
}

type UseSource = Extract<BotSource, { readonly kind: "use" }>;

function takeFromCatalog(
  source: UseSource,
  index: number,
  catalog: Catalog,
): Pick<BotTable, "errors"> & { readonly candidates: readonly Candidate[] } {
  const path: Path = ["bots", index, "use"];
  const resolved = resolveUse(catalog, source.use);
  if (resolved.kind === "faulty") {
    const errors = resolved.problems.map((problem) => ({
      path: problem.index === undefined ? path : [...path, problem.index],
      message: problem.message,
    }));
    return { candidates: [], errors };
  }
  const rank = rankOf(source);
  return {
    candidates: resolved.bots.map((bot, item) => ({
      bot: overrideBot(bot, source.overrides),
      index,
      path: Array.isArray(source.use) ? [...path, item] : path,
      rank,
    })),
    errors: resolved.bots.length > 1 ? personalOverrides(source.overrides, index) : [],
  };
}

function rankOf({ use }: UseSource): number {
  if (use === "all") return 3;
  return typeof use === "object" && "class" in use ? 2 : 1;
}

/** What names or matches one bot cannot be written over several. */
function personalOverrides(overrides: BotOverrides, index: number): readonly BotProblem[] {
  const personal = [
    ["name", overrides.name],
    ["match", overrides.match],
    ["robots_token", overrides.robotsToken],
  ] as const;
  return personal
    .filter(([, value]) => value !== undefined)
    .map(([key]) => ({
      path: ["bots", index, key],
      message: `\`${key}\` belongs to one bot, and \`use\` names several; use each by its id`,
    }));
}

function overrideBot(bot: Bot, overrides: BotOverrides): Bot {
  return {
    ...bot,
    name: overrides.name ?? bot.name,
    class: overrides.class ?? bot.class,
    operator: overrides.operator ?? bot.operator,
    match: overrides.match ?? bot.match,
    verifiers: overrides.verifiers ?? bot.verifiers,
    robotsToken: overrides.robotsToken ?? bot.robotsToken,
  };
}

/** One bot for each id; two of one rank are an error where an id was written, else the first stays. */
function choose(
  candidates: readonly Candidate[],
  errors: BotProblem[],
): ReadonlyMap<string, Candidate> {
  const chosen = new Map<string, Candidate>();
  for (const candidate of candidates.toSorted((left, right) => left.rank - right.rank)) {
    const { id } = candidate.bot;
    const earlier = chosen.get(id);
    if (earlier === undefined) chosen.set(id, candidate);
    else if (earlier.rank === candidate.rank && candidate.rank <= 1) {
      const message = `\`${id}\` is the id of another bot above; ids are unique`;
      errors.push({ path: candidate.path, message });
    }
  }
  return chosen;
}
