import { expect, test } from "vitest";
import { parseCatalog } from "../../../src/core/bot/catalog.ts";
import { compilePolicy } from "../../../src/core/policy/compile.ts";

const CATALOG = `operator: Acme
confidence: operator
checked: 2026-11-30
bots:
  - {id: acmebot, name: AcmeBot, class: search, match: {user_agents: [AcmeBot]}}
  - {id: acmebot-pro, name: AcmeBot Pro, class: seo, match: {user_agents: [AcmeBot/Pro]}}
`;

function identify(bots: string, userAgent: string): string {
  const parsed = parseCatalog([{ file: "acme.yaml", text: CATALOG }]);
  if (parsed.kind === "faulty") throw new Error("the catalog has faults");
  const text = `site: {id: site, host: www.example.com}\nbots:\n${bots}`;
  const compiled = compilePolicy({ file: "site.yaml", text }, { catalog: parsed.catalog });
  if (compiled.kind === "faulty") throw new Error(JSON.stringify(compiled.errors));
  return compiled.policy.identify(userAgent).id;
}

const OWN = "  - {id: own, class: own, match: {user_agents: [acmebot]}}\n";

test.each([
  ["before", `${OWN}  - use: all\n`],
  ["after", `  - use: all\n${OWN}`],
])("a bot of the policy's own written %s `use: all` wins with an equal token", (_, bots) => {
  expect(identify(bots, "AcmeBot/1.0")).toBe("own");
});

test("a longer token of the catalog is still the closer description", () => {
  expect(identify(`  - use: all\n${OWN}`, "AcmeBot/Pro")).toBe("acmebot-pro");
});
