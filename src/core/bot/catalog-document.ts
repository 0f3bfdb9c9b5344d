import { z } from "zod";
import type { Fault } from "../policy/fault.ts";
import { toMatch } from "../policy/schema/match.ts";
import { id, line, webUrl } from "../policy/schema/terms.ts";
import { verifySchema } from "../policy/schema/verify.ts";
import { readDocument, type SourceDocument } from "../yaml/document.ts";
import { faultAt, faultsOf, ISSUE_OPTIONS, quote } from "../yaml/schema-faults.ts";
import type { Bot, UserAgentMatch } from "./bot.ts";
import type { CatalogEntry } from "./catalog.ts";

/** A catalog file's text; `file` is what people are told. */
export interface CatalogDocument {
  readonly file: string;
  readonly text: string;
}

const texts = z.array(line(2048)).default([]);

const match = z.strictObject({
  user_agents: texts,
  exact: texts,
  anchored: texts,
  must_not: texts,
});

/** May stand at the top of a file, for all its bots, and in a bot. */
const provenance = {
  docs: webUrl.optional(),
  confidence: z.enum(["operator", "quoted", "third_party", "observed"]).optional(),
  checked: z.iso.date("is no date; write one such as `2026-11-30`").optional(),
};

const crawler = z.strictObject({
  id,
  name: line(128).optional(),
  class: id.optional(),
  kind: z.enum(["crawler", "robots_only", "no_user_agent"]).optional(),
  match: match.optional(),
  verify: verifySchema.optional(),
  robots_token: line(64).optional(),
  obeys_robots: z.enum(["yes", "no", "partial"]).optional(),
  ...provenance,
  note: line(1024).optional(),
  examples: z.array(line(2048)).optional(),
  counterexamples: z.array(line(2048)).optional(),
});

const page = z.strictObject({
  operator: line(128).optional(),
  ...provenance,
  bots: z.array(crawler).min(1),
});

type Page = z.output<typeof page>;
type Crawler = z.output<typeof crawler>;

/** What stands in the documents, laid over the entries of `base`, and every fault. */
export function readEntries(
  documents: readonly CatalogDocument[],
  base: ReadonlyMap<string, CatalogEntry>,
): { readonly entries: ReadonlyMap<string, CatalogEntry>; readonly errors: readonly Fault[] } {
  const entries = new Map<string, CatalogEntry>();
  const errors: Fault[] = [];
  for (const { file, text } of documents) {
    const { document, faults } = readDocument(file, text);
    errors.push(...faults);
    if (document === undefined) continue;
    const parsed = page.safeParse(document.value, ISSUE_OPTIONS);
    if (!parsed.success) {
      errors.push(...faultsOf(document, parsed.error.issues));
      continue;
    }
    for (const [index, written] of parsed.data.bots.entries()) {
      const under = base.get(written.id);
      errors.push(...objections(document, parsed.data, index, written, { under, entries }));
      entries.set(written.id, complete(file, parsed.data, written, under));
    }
  }
  return { entries, errors };
}

function objections(
  document: SourceDocument,
  around: Page,
  index: number,
  written: Crawler,
  known: {
    readonly under: CatalogEntry | undefined;
    readonly entries: ReadonlyMap<string, CatalogEntry>;
  },
): readonly Fault[] {
  const faults: Fault[] = [];
  const earlier = known.entries.get(written.id);
  if (earlier !== undefined) {
    const message = `${quote(written.id)} is in ${quote(earlier.file)} already; choose another id`;
    faults.push(faultAt(document, ["bots", index, "id"], message));
  }
  for (const field of known.under === undefined ? missingFields(around, written) : []) {
    const message = `${quote(written.id)} is new to the catalog; write its \`${field}\``;
    faults.push(faultAt(document, ["bots", index], message));
  }
  return faults;
}

const REQUIRED = ["operator", "name", "class", "match", "confidence", "checked"] as const;

function missingFields(around: Page, written: Crawler): readonly string[] {
  const present = { ...around, ...written };
  return REQUIRED.filter((field) => {
    if (field === "match" && written.kind === "no_user_agent") return false;
    return present[field] === undefined;
  });
}

function complete(
  file: string,
  around: Page,
  written: Crawler,
  under: CatalogEntry | undefined,
): CatalogEntry {
  return {
    bot: toBot(around.operator, written, under?.bot),
    kind: written.kind ?? under?.kind ?? "crawler",
    docs: written.docs ?? around.docs ?? under?.docs ?? "",
    confidence: written.confidence ?? around.confidence ?? under?.confidence ?? "observed",
    checked: written.checked ?? around.checked ?? under?.checked ?? "",
    obeysRobots: written.obeys_robots ?? under?.obeysRobots,
    note: written.note ?? under?.note ?? "",
    examples: written.examples ?? under?.examples ?? [],
    counterexamples: written.counterexamples ?? under?.counterexamples ?? [],
    file,
  };
}

function toBot(operator: string | undefined, written: Crawler, under: Bot | undefined): Bot {
  return {
    id: written.id,
    name: written.name ?? under?.name ?? written.id,
    class: written.class ?? under?.class ?? "unknown",
    operator: operator ?? under?.operator ?? "",
    match: written.match === undefined ? (under?.match ?? NO_MATCH) : toMatch(written.match),
    verifiers: written.verify ?? under?.verifiers ?? [],
    robotsToken: written.robots_token ?? under?.robotsToken ?? "",
    isDefault: false,
  };
}

const NO_MATCH: UserAgentMatch = { userAgents: [], exact: [], anchored: [], mustNot: [] };
