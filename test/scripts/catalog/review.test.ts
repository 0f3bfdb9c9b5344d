import { expect, test } from "vitest";
import { catalogPage } from "../../../scripts/catalog/page.ts";
import { olderThan, overlaps, reviewCatalog } from "../../../scripts/catalog/review.ts";
import { type Catalog, parseCatalog } from "../../../src/core/bot/catalog.ts";

function catalogOf(...bots: readonly string[]): Catalog {
  const text = `operator: Acme
confidence: operator
checked: 2026-11-30
bots:
${bots.map((bot) => `  - {name: A, class: search, ${bot}}`).join("\n")}
`;
  const parsed = parseCatalog([{ file: "acme.yaml", text }]);
  if (parsed.kind === "faulty") throw new Error(JSON.stringify(parsed.errors));
  return parsed.catalog;
}

const PLAIN = "id: plain, match: {user_agents: [PlainBot]}, examples: [PlainBot/1]";

test.each([
  [
    "an example that claims another",
    [PLAIN, "id: other, match: {user_agents: [OtherBot]}, examples: [PlainBot (like OtherBo)]"],
    { id: "other", message: "its example `PlainBot (like OtherBo)` claims plain" },
  ],
  [
    "an example that claims nobody",
    ["id: plain, match: {user_agents: [PlainBot]}, examples: [PlainBots]"],
    { id: "plain", message: "its example `PlainBots` claims nobody" },
  ],
  [
    "a counterexample that claims it",
    ["id: plain, match: {user_agents: [PlainBot]}, counterexamples: [PlainBot app]"],
    { id: "plain", message: "its counterexample `PlainBot app` claims it" },
  ],
  [
    "a token that another has",
    [PLAIN, "id: other, match: {user_agents: [plainbot]}"],
    { id: "other", message: "its token `plainbot` claims plain" },
  ],
  [
    "an everyday word",
    ["id: plain, match: {user_agents: [Spider]}"],
    {
      id: "plain",
      message: "its token `Spider` is an everyday word; write `exact` or more of it",
    },
  ],
  [
    "a token of browsers",
    ["id: plain, match: {user_agents: [AppleWebKit]}"],
    {
      id: "plain",
      message: "`AppleWebKit` claims the browser `Mozilla/5.0 AppleWebKit/537.36 Chrome/1`",
    },
  ],
  ["no token", ["id: plain, match: {}"], { id: "plain", message: "it has no token" }],
  [
    "a list that comes in the clear",
    [
      "id: plain, match: {user_agents: [PlainBot]}, verify: {type: ip_ranges, sources: ['http://a.example/b']}",
    ],
    {
      id: "plain",
      message: "`http://a.example/b` is not https, so that anybody on the way can answer",
    },
  ],
])("%s is found", (_, bots, finding) => {
  const browsers = ["Mozilla/5.0 AppleWebKit/537.36 Chrome/1"];
  expect(reviewCatalog(catalogOf(...bots), browsers)).toEqual([finding]);
});

test("a catalog in order has no findings", () => {
  const browserless = "id: agent, kind: no_user_agent, verify: none";
  expect(reviewCatalog(catalogOf(PLAIN, browserless), ["Mozilla/5.0"])).toEqual([]);
});

test("entries to check again are those checked longer ago than so many days", () => {
  const catalog = catalogOf(PLAIN);
  expect(olderThan(catalog, 31, "2026-12-31")).toEqual([]);
  expect(olderThan(catalog, 30, "2026-12-31")).toEqual([
    { id: "plain", message: "last checked on 2026-11-30, 31 days ago" },
  ]);
});

test("examples that would claim another crawler in a policy without their own are listed", () => {
  const longer = "id: longer, match: {user_agents: [PlainBot/Pro]}, examples: [PlainBot/Pro]";
  expect(overlaps(catalogOf(PLAIN, longer))).toEqual([
    { id: "longer", message: "would claim plain by `PlainBot/Pro`" },
  ]);
});

test("the page keeps its text and shows each crawler in a row", () => {
  const catalog = catalogOf(
    "id: plain, match: {user_agents: [Plain|Bot], anchored: [Plain/], exact: [P]}, robots_token: Plain, docs: 'https://a.example'",
  );
  const page = catalogPage("# Title\n", catalog);
  expect(page).toContain("# Title\n");
  expect(page).toContain(
    "| [plain](https://a.example) | search | `Plain\\|Bot`, `Plain/` first, `P` alone | `Plain` |  | operator |",
  );
  expect(catalogPage(page, catalog)).toBe(page);
});
