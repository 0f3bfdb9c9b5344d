import { Buffer } from "node:buffer";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { catalogPage } from "../../scripts/catalog/page.ts";
import { reviewCatalog } from "../../scripts/catalog/review.ts";
import { type Catalog, parseCatalog } from "../../src/core/bot/catalog.ts";
import { createMatcher } from "../../src/core/bot/identify.ts";
import { formatFault } from "../../src/core/policy/fault.ts";

const root = join(import.meta.dirname, "../..");
const catalog = readCatalog();
const entries = [...catalog.values()];
const claimOf = createMatcher(entries.map(({ bot }) => bot));
const labelled = readLabelled("labelled.tsv").map(([id = "", userAgent = ""]) => ({
  id,
  userAgent,
}));
const people = [
  ...labelled.filter(({ id }) => id === "none").map(({ userAgent }) => userAgent),
  ...readLabelled("people.txt").map((parts) => parts.join("\t")),
];

function readCatalog(): Catalog {
  const folder = join(root, "policies/catalog");
  const files = readdirSync(folder).sort();
  const parsed = parseCatalog(
    files.map((file) => ({ file, text: readFileSync(join(folder, file), "utf8") })),
  );
  if (parsed.kind === "faulty") throw new Error(parsed.errors.map(formatFault).join("\n"));
  return parsed.catalog;
}

function readLabelled(file: string): readonly (readonly string[])[] {
  const text = readFileSync(join(root, "test/fixtures/user-agents", file), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t"));
}

/** The claim as on the request path: header values come as one char a byte. */
function claimed(userAgent: string): string {
  return claimOf(Buffer.from(userAgent).toString("latin1"))?.bot.id ?? "none";
}

test("the catalog holds 268 crawlers", () => {
  expect(catalog.size).toBe(268);
});

test.each(labelled)("$id sends `$userAgent`", ({ id, userAgent }) => {
  expect(claimed(userAgent)).toBe(id);
});

test("no browser or app of a person claims to be a crawler", () => {
  expect(people.filter((userAgent) => claimed(userAgent) !== "none")).toEqual([]);
});

test("of User-Agents that no entry was written from, at least 98 in 100 are told right", () => {
  const examples = new Set(entries.flatMap((entry) => entry.examples));
  const heldOut = readLabelled("held-out.tsv").filter(([, sent = ""]) => !examples.has(sent));
  const wrong = heldOut.filter(([id, userAgent = ""]) => claimed(userAgent) !== id);
  expect(heldOut.length).toBeGreaterThan(200);
  expect(wrong.length, JSON.stringify(wrong, undefined, 2)).toBeLessThan(heldOut.length * 0.02);
});

test.each(readLabelled("ambiguous.tsv"))("%s is claimed by %s with `%s`", (id, _, userAgent) => {
  expect(claimed(userAgent ?? "")).toBe(id);
});

test("every entry holds to its examples and counterexamples, and claims no browser", () => {
  expect(reviewCatalog(catalog, people)).toEqual([]);
});

test("a token glued to a letter before or after it claims nobody", () => {
  const inner = entries
    .flatMap(({ bot }) => bot.match.userAgents)
    .filter((token) => /^[a-z0-9].*[a-z0-9]$/i.test(token));
  const other = createMatcher(
    entries.map(({ bot }) => ({ ...bot, match: { ...bot.match, anchored: [], exact: [] } })),
  );
  const claims = inner.flatMap((token) =>
    [`Q${token}`, `${token}qz`].filter((text) => other(text)?.token === token),
  );
  expect(claims).toEqual([]);
});

test("a browser stays a browser, whatever versions and blanks it has", () => {
  const browser = fc.constantFrom(...people);
  fc.assert(
    fc.property(browser, fc.nat(9), fc.nat(60), (userAgent, digit, blanks) => {
      const other = userAgent.replaceAll(/\d/g, String(digit));
      expect(claimed(`${" ".repeat(blanks)}${other}${" ".repeat(blanks)}`)).toBe("none");
    }),
    { numRuns: 300 },
  );
});

test("a crawler's example is its own in any case and between blanks", () => {
  const whole = entries.filter(({ bot }) => bot.match.exact.length === 0);
  const example = fc.constantFrom(
    ...whole.flatMap(({ bot, examples }) => examples.map((userAgent) => ({ bot, userAgent }))),
  );
  fc.assert(
    fc.property(example, fc.boolean(), fc.nat(60), ({ bot, userAgent }, isUpper, blanks) => {
      const other = isUpper ? userAgent.toUpperCase() : userAgent.toLowerCase();
      expect(claimed(`${other}${" ".repeat(blanks)}`)).toBe(bot.id);
    }),
    { numRuns: 300 },
  );
});

test("a crawler that a policy uses alone claims its examples, and no person", () => {
  const wrong = entries.flatMap(({ bot, examples, counterexamples }) => {
    const alone = createMatcher([bot]);
    const others = counterexamples.filter((userAgent) => claimed(userAgent) === "none");
    return [
      ...examples.filter((userAgent) => alone(userAgent) === undefined),
      ...[...others, ...people].filter((userAgent) => alone(userAgent) !== undefined),
    ];
  });
  expect(wrong).toEqual([]);
});

test("only what an operator's page was seen to say of robots.txt is claimed", () => {
  const claims = entries.filter(({ obeysRobots }) => obeysRobots !== undefined);
  expect(claims.filter(({ confidence }) => confidence === "observed")).toEqual([]);
});

test("docs/catalog.md shows the catalog as it is", () => {
  const page = readFileSync(join(root, "docs/catalog.md"), "utf8");
  expect(catalogPage(page, catalog)).toBe(page);
});
