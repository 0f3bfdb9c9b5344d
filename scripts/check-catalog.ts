import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { parseCatalog } from "../src/core/bot/catalog.ts";
import { formatFault } from "../src/core/policy/fault.ts";
import { catalogPage } from "./catalog/page.ts";
import { type Finding, olderThan, overlaps, reviewCatalog } from "./catalog/review.ts";

/*
 * `npm run catalog -- [--older-than 180] [--overlaps] [--write]`: reviews the catalog that
 * ships in the package. Exit code 0: nothing to mend; 1: something, or docs/catalog.md is not up to
 * date (`--write` writes it); 2: the catalog cannot be read.
 */

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const CATALOG = join(ROOT, "policies/catalog");
const PAGE = join(ROOT, "docs/catalog.md");
const USER_AGENTS = join(ROOT, "test/fixtures/user-agents");

process.exitCode = main();

function main(): number {
  const { values } = parseArgs({
    options: {
      "older-than": { type: "string" },
      overlaps: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
    },
  });
  const files = readdirSync(CATALOG).sort();
  const parsed = parseCatalog(
    files.map((file) => ({ file, text: readFileSync(join(CATALOG, file), "utf8") })),
  );
  if (parsed.kind === "faulty") {
    for (const fault of parsed.errors) console.error(formatFault(fault));
    return 2;
  }
  const { catalog } = parsed;
  const findings = reviewCatalog(catalog, browsers());
  print(findings);
  if (values.overlaps) print(overlaps(catalog));
  const age = values["older-than"];
  if (age !== undefined)
    print(olderThan(catalog, Number(age), new Date().toISOString().slice(0, 10)));
  const isCurrent = keepPage(catalogPage(readFileSync(PAGE, "utf8"), catalog), values.write);
  console.log(`${catalog.size} crawlers in ${files.length} files, ${findings.length} to mend`);
  return findings.length === 0 && isCurrent ? 0 : 1;
}

function browsers(): readonly string[] {
  const labelled = readFileSync(join(USER_AGENTS, "labelled.tsv"), "utf8").split("\n");
  const people = readFileSync(join(USER_AGENTS, "people.txt"), "utf8").trimEnd().split("\n");
  const none = labelled.filter((line) => line.startsWith("none\t"));
  return [...none.map((line) => line.slice("none\t".length)), ...people];
}

function keepPage(page: string, isWritten: boolean): boolean {
  if (isWritten) writeFileSync(PAGE, page);
  if (readFileSync(PAGE, "utf8") === page) return true;
  console.log("docs/catalog.md is not up to date; run `npm run catalog -- --write`");
  return false;
}

function print(findings: readonly Finding[]): void {
  for (const { id, message } of findings) console.log(`${id}: ${message}`);
}
