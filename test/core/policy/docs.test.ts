import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseFixtures } from "../../../src/cli/policy/fixtures.ts";
import { type Catalog, parseCatalog } from "../../../src/core/bot/catalog.ts";
import { compilePolicy } from "../../../src/core/policy/compile.ts";
import { formatFault } from "../../../src/core/policy/fault.ts";
import { readPolicyTexts } from "../../../src/io/policy-files.ts";

const ROOT = new URL("../../../", import.meta.url);
const DOCUMENTS = ["docs/policy.md", "README.md"];

const SITE = "site: { id: docs, host: docs.example.com }\n";
const SETS = "sets: { protected_paths: [/archive] }\n";
const BOT = "bots:\n  - id: a\n    class: search\n    match: { user_agents: [Abot] }\n";

const blocks = DOCUMENTS.flatMap((file) => {
  const text = readFileSync(new URL(file, ROOT), "utf8");
  return [...text.matchAll(/^( *)```yaml\n([\s\S]*?)^ *```$/gm)].map(
    ([, indent = "", block = ""]) => {
      const yaml = block.replaceAll(new RegExp(`^${indent}`, "gm"), "");
      return { name: `${file}: ${yaml.split("\n").slice(0, 2).join(" ")}`, yaml };
    },
  );
});

/** A piece of a policy, with what is left out around it. */
function complete(yaml: string): string {
  if (yaml.startsWith("- ")) return `${SITE}${SETS}rules:\n${yaml}`;
  if (yaml.startsWith("verify:")) return `${SITE}${BOT}${yaml.replaceAll(/^/gm, "    ")}`;
  return /^site:/m.test(yaml) ? yaml : SITE + yaml;
}

const catalog = readCatalog();

function readCatalog(): Catalog {
  const read = readPolicyTexts(new URL("policies/default.yaml", ROOT).pathname);
  if (read.kind === "unreadable") throw new Error(read.causes.join("\n"));
  const parsed = parseCatalog(read.texts.catalog);
  if (parsed.kind === "faulty") throw new Error(parsed.errors.map(formatFault).join("\n"));
  return parsed.catalog;
}

function faultsOf(yaml: string, file = "docs"): readonly string[] {
  if (yaml.startsWith("fixtures:")) {
    const parsed = parseFixtures(file, yaml);
    return parsed.kind === "faulty" ? parsed.faults : [];
  }
  const compiled = compilePolicy({ file, text: complete(yaml) }, { catalog });
  return compiled.kind === "faulty" ? compiled.errors.map(formatFault) : [];
}

test("the documents hold policies", () => {
  expect(blocks.length).toBeGreaterThan(10);
});

test.each(blocks)("what a document shows loads as printed: $name", ({ yaml }) => {
  expect(faultsOf(yaml)).toEqual([]);
});

test("the fault that the guide shows is the one that is told", () => {
  const guide = readFileSync(new URL("docs/policy.md", ROOT), "utf8");
  const [first] = blocks;
  const misspelt = first?.yaml.replace("!bot.verified", "!bot.verifed") ?? "";
  expect(faultsOf(misspelt, "policies/site.yaml").map((line) => guide.includes(line))).toEqual([
    true,
  ]);
});
