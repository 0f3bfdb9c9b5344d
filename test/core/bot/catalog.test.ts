import { expect, test } from "vitest";
import { type Catalog, parseCatalog, resolveUse, type Use } from "../../../src/core/bot/catalog.ts";
import { createMatcher } from "../../../src/core/bot/identify.ts";
import { formatFault } from "../../../src/core/policy/fault.ts";

const ACME = `operator: Acme
docs: https://acme.example/bots
confidence: operator
checked: 2026-11-30
bots:
  - id: acmebot
    name: AcmeBot
    class: search
    match: {user_agents: [AcmeBot], must_not: [like AcmeBot]}
    verify:
      - type: ip_ranges
        sources: [https://acme.example/bots.json]
      - type: web_bot_auth
        directories: [https://acme.example]
    robots_token: AcmeBot
    obeys_robots: yes
    examples: [AcmeBot/1.0]
    counterexamples: [AcmeBots/1.0]
  - id: acme-agent
    name: Acme agent
    class: ai_agent
    kind: no_user_agent
    verify: {type: web_bot_auth, directories: [https://acme.example]}
    confidence: observed
`;

function catalogOf(text: string, base?: Catalog): Catalog {
  const parsed = parseCatalog([{ file: "acme.yaml", text }], base);
  if (parsed.kind === "faulty") throw new Error(parsed.errors.map(formatFault).join("\n"));
  return parsed.catalog;
}

function faultsOf(text: string, base?: Catalog): readonly string[] {
  const parsed = parseCatalog([{ file: "own.yaml", text }], base);
  return parsed.kind === "faulty" ? parsed.errors.map(formatFault) : [];
}

test("an entry carries what its file says of it, and what the file says of all", () => {
  const catalog = catalogOf(ACME);
  expect(catalog.get("acmebot")).toEqual({
    bot: {
      id: "acmebot",
      name: "AcmeBot",
      class: "search",
      operator: "Acme",
      match: { userAgents: ["AcmeBot"], exact: [], anchored: [], mustNot: ["like AcmeBot"] },
      verifiers: [
        {
          kind: "ip_ranges",
          sources: [
            {
              kind: "url",
              url: "https://acme.example/bots.json",
              format: "prefixes",
              pointer: undefined,
            },
          ],
          refreshMs: 43_200_000,
          staleAction: "fail_closed",
          maxStaleMs: 0,
        },
        { kind: "web_bot_auth", directories: ["https://acme.example"] },
      ],
      robotsToken: "AcmeBot",
      isDefault: false,
    },
    kind: "crawler",
    docs: "https://acme.example/bots",
    confidence: "operator",
    checked: "2026-11-30",
    obeysRobots: "yes",
    note: "",
    examples: ["AcmeBot/1.0"],
    counterexamples: ["AcmeBots/1.0"],
    file: "acme.yaml",
  });
  expect(catalog.get("acme-agent")).toMatchObject({
    kind: "no_user_agent",
    confidence: "observed",
  });
});

test("an operator's file writes over single fields of a packaged entry, and adds its own", () => {
  const own = `
checked: 2026-12-24
bots:
  - id: acmebot
    verify: none
  - id: neighbour
    name: Neighbour
    class: monitoring
    match: {user_agents: [NeighbourBot]}
    confidence: observed
operator: Acme and neighbours
`;
  const catalog = catalogOf(own, catalogOf(ACME));
  expect([...catalog.keys()].toSorted()).toEqual(["acme-agent", "acmebot", "neighbour"]);
  const packaged = catalogOf(ACME).get("acmebot");
  expect(catalog.get("acmebot")).toEqual({
    ...packaged,
    bot: { ...packaged?.bot, operator: "Acme and neighbours", verifiers: [] },
    checked: "2026-12-24",
  });
});

test("an operator's own entries stand first, so that of equal tokens theirs win", () => {
  const own = `
bots: [{id: mine, name: Mine, class: seo, match: {user_agents: [acmebot]}}]
operator: Me
confidence: observed
checked: 2026-12-24
`;
  const catalog = catalogOf(own, catalogOf(ACME));
  const match = createMatcher([...catalog.values()].map(({ bot }) => bot));
  expect(match("AcmeBot/1.0")?.bot.id).toBe("mine");
});

test.each<[string, Use, readonly string[]]>([
  ["an id", "acmebot", ["acmebot"]],
  ["a list of ids", ["acme-agent", "acmebot"], ["acme-agent", "acmebot"]],
  ["a class", { class: "ai_agent" }, ["acme-agent"]],
  ["all", "all", ["acmebot", "acme-agent"]],
])("`use:` takes %s", (_, use, ids) => {
  const used = resolveUse(catalogOf(ACME), use);
  expect(used.kind === "bots" && used.bots.map(({ id }) => id)).toEqual(ids);
});

test("a bot comes with everything that proves it", () => {
  const used = resolveUse(catalogOf(ACME), "all");
  const kinds =
    used.kind === "bots" && used.bots.map((bot) => bot.verifiers.map(({ kind }) => kind));
  expect(kinds).toEqual([["ip_ranges", "web_bot_auth"], ["web_bot_auth"]]);
});

test.each<[Use, readonly { index: number | undefined; message: string }[]]>([
  [
    "acmebt",
    [
      {
        index: undefined,
        message: "the catalog has no crawler `acmebt`; did you mean `acmebot`?",
      },
    ],
  ],
  [
    ["acmebot", "zzzzzz", "acme-agnet"],
    [
      {
        index: 1,
        message: "the catalog has no crawler `zzzzzz`; `crawlwall bots list` shows them",
      },
      {
        index: 2,
        message: "the catalog has no crawler `acme-agnet`; did you mean `acme-agent`?",
      },
    ],
  ],
  [
    { class: "serch" },
    [
      {
        index: undefined,
        message: "the catalog has no crawler of class `serch`; did you mean `search`?",
      },
    ],
  ],
  [
    { class: "unheard" },
    [
      {
        index: undefined,
        message: "the catalog has no crawler of class `unheard`; one of `ai_agent`, `search`",
      },
    ],
  ],
])("`use: %j` names what is not there, each in its place", (use, problems) => {
  expect(resolveUse(catalogOf(ACME), use)).toEqual({ kind: "faulty", problems });
});

test.each([
  [
    "a new entry without what every entry needs",
    "bots: [{id: new, match: {user_agents: [NewBot]}}]",
    ["operator", "name", "class", "confidence", "checked"].map(
      (field) => `own.yaml:1:8: bots[0]: \`new\` is new to the catalog; write its \`${field}\``,
    ),
  ],
  [
    "an id twice",
    "bots: [{id: acmebot}, {id: acmebot}]",
    ["own.yaml:1:28: bots[1].id: `acmebot` is in `own.yaml` already; choose another id"],
  ],
  [
    "a key misspelt",
    "bots: [{id: acmebot, clas: search}]",
    ["own.yaml:1:22: bots[0].clas: unknown key `clas`; did you mean `class`?"],
  ],
  [
    "a date that is none",
    "bots: [{id: acmebot, checked: 2026-13-01}]",
    ["own.yaml:1:31: bots[0].checked: `2026-13-01` is no date; write one such as `2026-11-30`"],
  ],
  ["no bots", "operator: Acme", ["own.yaml:1:1: bots: required key is missing"]],
])("%s is a fault with its place", (_, text, faults) => {
  expect(faultsOf(text, catalogOf(ACME))).toEqual(faults);
});

test("faults of all files are told at once", () => {
  const parsed = parseCatalog([
    { file: "one.yaml", text: "bots: 1" },
    { file: "two.yaml", text: "bots: [" },
  ]);
  expect(parsed.kind === "faulty" && parsed.errors.map(({ file }) => file)).toEqual([
    "one.yaml",
    "two.yaml",
  ]);
});
