import { text as readAll } from "node:stream/consumers";
import type { Command } from "commander";
import type { BotVerifier } from "../core/bot/bot.ts";
import { type Catalog, type CatalogEntry, parseCatalog } from "../core/bot/catalog.ts";
import { createMatcher } from "../core/bot/identify.ts";
import { nearest } from "../core/nearest.ts";
import { policiesPath, readPolicyTexts } from "../io/policy-files.ts";
import { CannotRun, cannotRunFor, EXIT, type ExitCode, printJson, runCommand } from "./exit.ts";
import { flag } from "./flags.ts";

interface Options {
  readonly policies?: string;
  readonly json?: boolean;
}

interface ListOptions extends Options {
  readonly class?: string;
}

/** `crawlwall bots list|show|match`: the catalog of known crawlers, with the operator's own entries. */
export function registerBots(program: Command): void {
  const bots = program
    .command("bots")
    .description("known crawlers: list, show, match a User-Agent");
  const policies = () => flag("--policies <path>", "where `catalog/` with own entries lies");
  bots
    .command("list")
    .description("list the crawlers of the catalog")
    .option("--class <name>", "only those of a class")
    .addOption(policies())
    .option("--json", "print JSON")
    .action((options: ListOptions) => runCommand(() => list(options)));
  bots
    .command("show <id>")
    .description("show all that the catalog says of a crawler")
    .addOption(policies())
    .option("--json", "print JSON")
    .action((id: string, options: Options) => runCommand(() => show(id, options)));
  bots
    .command("match <user-agent...>")
    .description("tell which crawler a User-Agent claims to be; `-` reads one a line from stdin")
    .addOption(policies())
    .option("--json", "print JSON")
    .action((values: readonly string[], options: Options) =>
      runCommand(() => match(values, options)),
    );
}

function list(options: ListOptions): ExitCode {
  const entries = [...readCatalog(options).values()].filter(
    ({ bot }) => options.class === undefined || bot.class === options.class,
  );
  if (options.json === true) {
    printJson(entries.map(describe));
    return EXIT.fine;
  }
  print(
    entries.map(({ bot, confidence }) => {
      const proof = bot.verifiers.map(({ kind }) => kind).join(", ") || "none";
      return [bot.id.padEnd(28), bot.class.padEnd(15), confidence.padEnd(12), proof].join(" ");
    }),
  );
  return EXIT.fine;
}

function show(id: string, options: Options): ExitCode {
  const catalog = readCatalog(options);
  const entry = catalog.get(id);
  if (entry === undefined) {
    const near = nearest(id, catalog.keys());
    const hint = near === undefined ? "see `crawlwall bots list`" : `did you mean \`${near}\`?`;
    throw new CannotRun([`the catalog has no crawler \`${id}\`; ${hint}`]);
  }
  const description = describe(entry);
  if (options.json === true) printJson(description);
  else print(Object.entries(description).flatMap(([key, value]) => linesOf(key, value)));
  return EXIT.fine;
}

function linesOf(key: string, value: unknown): readonly string[] {
  if (value === null) return [];
  if (!Array.isArray(value)) return [`${key}: ${String(value)}`];
  const items = value.map((item) => (typeof item === "string" ? item : JSON.stringify(item)));
  return items.length === 0 ? [] : [`${key}:`, ...items.map((item) => `  ${item}`)];
}

async function match(values: readonly string[], options: Options): Promise<ExitCode> {
  const claimOf = createMatcher([...readCatalog(options).values()].map(({ bot }) => bot));
  const userAgents = values.includes("-") ? await withStandardInput(values) : values;
  const claims = userAgents.map((userAgent) => ({ userAgent, claim: claimOf(userAgent) }));
  if (options.json === true) {
    printJson(
      claims.map(({ userAgent, claim }) => ({
        user_agent: userAgent,
        id: claim?.bot.id ?? null,
        name: claim?.bot.name ?? null,
        class: claim?.bot.class ?? null,
        operator: claim?.bot.operator ?? null,
        token: claim?.token ?? null,
      })),
    );
    return EXIT.fine;
  }
  print(
    claims.map(({ userAgent, claim }) => {
      const answer = claim === undefined ? "none" : `${claim.bot.id} by \`${claim.token}\``;
      return `${answer}\t${userAgent.replaceAll(/\p{Cc}/gu, "?")}`;
    }),
  );
  return EXIT.fine;
}

async function withStandardInput(values: readonly string[]): Promise<readonly string[]> {
  const input = await readAll(process.stdin);
  const lines = input === "" ? [] : input.replace(/\r?\n$/, "").split(/\r?\n/);
  return values.flatMap((value) => (value === "-" ? lines : [value]));
}

/** The packaged catalog with the operator's own entries laid over it. */
function readCatalog(options: Options): Catalog {
  const read = readPolicyTexts(policiesPath(options.policies));
  if (read.kind === "unreadable") throw new CannotRun(read.causes);
  const packaged = parseCatalog(read.texts.catalog);
  if (packaged.kind === "faulty") throw cannotRunFor(packaged.errors);
  const catalog = parseCatalog(read.texts.overlay, packaged.catalog);
  if (catalog.kind === "faulty") throw cannotRunFor(catalog.errors);
  return catalog.catalog;
}

/** An entry in the words of its file. */
function describe(entry: CatalogEntry): Readonly<Record<string, unknown>> {
  const { bot } = entry;
  return {
    id: bot.id,
    name: bot.name,
    class: bot.class,
    operator: bot.operator,
    kind: entry.kind,
    user_agents: bot.match.userAgents,
    exact: bot.match.exact,
    anchored: bot.match.anchored,
    must_not: bot.match.mustNot,
    verify: bot.verifiers.map(describeVerifier),
    robots_token: bot.robotsToken === "" ? null : bot.robotsToken,
    obeys_robots: entry.obeysRobots ?? null,
    docs: entry.docs === "" ? null : entry.docs,
    confidence: entry.confidence,
    checked: entry.checked,
    note: entry.note === "" ? null : entry.note,
    examples: entry.examples,
    counterexamples: entry.counterexamples,
    file: entry.file,
  };
}

function describeVerifier(verifier: BotVerifier): Readonly<Record<string, unknown>> {
  switch (verifier.kind) {
    case "ip_ranges":
      return {
        type: verifier.kind,
        sources: verifier.sources.map(({ kind: _, ...source }) => source),
        refresh_seconds: verifier.refreshMs / 1000,
      };
    case "static_ranges":
      return { type: verifier.kind, cidrs: verifier.cidrs };
    case "reverse_dns":
      return { type: verifier.kind, allowed_suffixes: verifier.allowedSuffixes };
    case "web_bot_auth":
      return { type: verifier.kind, directories: verifier.directories };
  }
}

function print(lines: readonly string[]): void {
  process.stdout.write(lines.map((line) => `${line}\n`).join(""));
}
