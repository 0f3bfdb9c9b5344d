import { nearest } from "../nearest.ts";
import type { Fault } from "../policy/fault.ts";
import type { Bot } from "./bot.ts";
import { type CatalogDocument, readEntries } from "./catalog-document.ts";

/** How sure the catalog is of an entry: from the operator's own page down to what was merely seen. */
type Confidence = "operator" | "quoted" | "third_party" | "observed";

/** A crawler as the catalog knows it. */
export interface CatalogEntry {
  /** Complete: with verifiers that this release may not support yet. */
  readonly bot: Bot;
  /**
   * `robots_only` is a token for robots.txt that no request of its operator carries;
   * `no_user_agent` sends a browser's User-Agent and is told by a signature or address alone.
   */
  readonly kind: "crawler" | "robots_only" | "no_user_agent";
  /** The page that describes it; empty where none is known. */
  readonly docs: string;
  readonly confidence: Confidence;
  /** The day its facts were last checked, `YYYY-MM-DD`. */
  readonly checked: string;
  /** What an operator's page says of robots.txt; absent where no page was seen to say it. */
  readonly obeysRobots: "yes" | "no" | "partial" | undefined;
  readonly note: string;
  /** User-Agent values that claim it. */
  readonly examples: readonly string[];
  /** User-Agent values that look like it and do not claim it. */
  readonly counterexamples: readonly string[];
  /** The file it was read from, for people. */
  readonly file: string;
}

/** Known crawlers by id: those of an operator's own files first, so that of equal tokens theirs win. */
export type Catalog = ReadonlyMap<string, CatalogEntry>;

export type ParsedCatalog =
  | { readonly kind: "catalog"; readonly catalog: Catalog }
  | { readonly kind: "faulty"; readonly errors: readonly Fault[] };

/**
 * Reads catalog documents, every fault at once. Entries are laid over those of `base`: an entry with
 * an id that is there already replaces the fields it writes and keeps the others.
 */
export function parseCatalog(
  documents: readonly CatalogDocument[],
  base: Catalog = new Map(),
): ParsedCatalog {
  const { entries, errors } = readEntries(documents, base);
  if (errors.length > 0) return { kind: "faulty", errors };
  const catalog = new Map(entries);
  for (const [id, entry] of base) if (!catalog.has(id)) catalog.set(id, entry);
  return { kind: "catalog", catalog };
}

/** What stands behind `use:` in a policy. */
export type Use = string | readonly string[] | { readonly class: string };

export type ResolvedUse =
  | { readonly kind: "bots"; readonly bots: readonly Bot[] }
  | { readonly kind: "faulty"; readonly problems: readonly UseProblem[] };

/** What is wrong with a `use:`. */
interface UseProblem {
  /** The place in a list of ids; absent when `use:` is no list. */
  readonly index: number | undefined;
  readonly message: string;
}

/** The crawlers that a policy's `use:` names: an id, a list of ids, `{class: search}` or `all`. */
export function resolveUse(catalog: Catalog, use: Use): ResolvedUse {
  if (use === "all") return { kind: "bots", bots: [...catalog.values()].map(({ bot }) => bot) };
  if (typeof use === "string") return resolveIds(catalog, [use], false);
  if ("class" in use) return resolveClass(catalog, use.class);
  return resolveIds(catalog, use, true);
}

function resolveIds(catalog: Catalog, ids: readonly string[], isList: boolean): ResolvedUse {
  const bots: Bot[] = [];
  const problems: UseProblem[] = [];
  for (const [index, id] of ids.entries()) {
    const entry = catalog.get(id);
    if (entry !== undefined) bots.push(entry.bot);
    else problems.push({ index: isList ? index : undefined, message: unknownId(catalog, id) });
  }
  return problems.length > 0 ? { kind: "faulty", problems } : { kind: "bots", bots };
}

function unknownId(catalog: Catalog, id: string): string {
  const near = nearest(id, catalog.keys());
  const hint =
    near === undefined ? "`crawlwall bots list` shows them" : `did you mean \`${near}\`?`;
  return `the catalog has no crawler \`${id}\`; ${hint}`;
}

function resolveClass(catalog: Catalog, name: string): ResolvedUse {
  const entries = [...catalog.values()];
  const bots = entries.map(({ bot }) => bot).filter((bot) => bot.class === name);
  if (bots.length > 0) return { kind: "bots", bots };
  const classes = [...new Set(entries.map(({ bot }) => bot.class))].sort();
  const near = nearest(name, classes);
  const known = `one of ${classes.map((each) => `\`${each}\``).join(", ")}`;
  const hint = near === undefined ? known : `did you mean \`${near}\`?`;
  const message = `the catalog has no crawler of class \`${name}\`; ${hint}`;
  return { kind: "faulty", problems: [{ index: undefined, message }] };
}
