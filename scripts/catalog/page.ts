import type { BotVerifier } from "../../src/core/bot/bot.ts";
import type { Catalog, CatalogEntry } from "../../src/core/bot/catalog.ts";

const BEGIN = "<!-- from here on made by `npm run catalog -- --write` -->";

/** The page's text by hand, and below it the table made from the catalog. */
export function catalogPage(page: string, catalog: Catalog): string {
  const byHand = page.split(BEGIN, 1)[0]?.trimEnd() ?? "";
  const entries = [...catalog.values()];
  const operators = Map.groupBy(entries, ({ bot }) => bot.operator);
  const names = [...operators.keys()].sort((left, right) => left.localeCompare(right, "en"));
  return [
    byHand,
    "",
    BEGIN,
    "",
    `## The ${entries.length} crawlers of ${operators.size} operators`,
    "",
    "| crawler | class | User-Agent | robots.txt | proof | sure |",
    "| --- | --- | --- | --- | --- | --- |",
    ...names.flatMap((name) => [
      `| **${cell(name)}** | | | | | |`,
      ...(operators.get(name) ?? []).map(row),
    ]),
    "",
  ].join("\n");
}

function row({ bot, kind, docs, confidence }: CatalogEntry): string {
  const { userAgents, exact, anchored } = bot.match;
  const tokens = [
    ...userAgents.map(code),
    ...anchored.map((token) => `${code(token)} first`),
    ...exact.map((value) => `${code(value)} alone`),
  ];
  const cells = [
    docs === "" ? bot.id : `[${bot.id}](${docs})`,
    bot.class,
    kind === "no_user_agent" ? "that of a browser" : tokens.join(", "),
    bot.robotsToken === "" ? "" : code(bot.robotsToken),
    bot.verifiers.map(proofOf).join(", "),
    confidence,
  ];
  return `| ${cells.join(" | ")} |`;
}

function proofOf(verifier: BotVerifier): string {
  switch (verifier.kind) {
    case "ip_ranges":
      return "list";
    case "static_ranges":
      return "networks";
    case "reverse_dns":
      return `DNS ${verifier.allowedSuffixes.map(code).join(" ")}`;
    case "web_bot_auth":
      return "signature";
  }
}

function code(text: string): string {
  return `\`${cell(text)}\``;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
