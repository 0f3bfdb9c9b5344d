import { isNode, LineCounter, parseDocument } from "yaml";
import { z } from "zod";
import { nearest } from "../nearest.ts";
import type { Fault } from "../policy/fault.ts";
import type { Bot, BotVerifier, UserAgentMatch } from "./bot.ts";
import type { CatalogEntry } from "./catalog.ts";

/** A catalog file's text; `file` is what people are told. */
export interface CatalogDocument {
  readonly file: string;
  readonly text: string;
}

const ID = /^[a-z0-9][a-z0-9_.-]{0,63}$/;
const SUFFIX = /^(\.[a-z0-9-]+)+$/;
const DURATION = /^(\d{1,6})([smhd])$/;
const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

const id = z.string().regex(ID, "must be 1 to 64 of a-z 0-9 _ . -, a letter or digit first");
const text = z.string().min(1, "must not be empty").max(2048);
const httpsUrl = z.string().startsWith("https://", "must be an https URL");
const duration = z.string().regex(DURATION, "must be a duration; `12h`").transform(toMs);

const source = z.preprocess(
  (value) => (typeof value === "string" ? { url: value } : value),
  z.strictObject({
    url: httpsUrl,
    format: text.default("google-json"),
    pointer: text.optional(),
  }),
);

const verifier = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("none") }),
  z.strictObject({
    type: z.literal("ip_ranges"),
    sources: z.array(source).min(1),
    refresh: duration.default(toMs("12h")),
    stale_action: z.enum(["fail_closed", "use_stale"]).default("fail_closed"),
    max_stale: duration.default(0),
  }),
  z.strictObject({
    type: z.literal("reverse_dns"),
    allowed_suffixes: z
      .array(z.string().regex(SUFFIX, "must be lower-case and start with a dot; `.example.com`"))
      .min(1),
  }),
  z.strictObject({ type: z.literal("static_ranges"), cidrs: z.array(text).min(1) }),
  z.strictObject({ type: z.literal("web_bot_auth"), directories: z.array(httpsUrl).min(1) }),
]);

const match = z.strictObject({
  user_agents: z.array(text).default([]),
  exact: z.array(text).default([]),
  anchored: z.array(text).default([]),
  must_not: z.array(text).default([]),
});

/** May stand at the top of a file, for all its entries, and in an entry. */
const provenance = {
  docs: httpsUrl.optional(),
  confidence: z.enum(["operator", "quoted", "third_party", "observed"]).optional(),
  checked: z.iso.date("must be a date; `2026-11-30`").optional(),
};

const entry = z.strictObject({
  id,
  name: text.optional(),
  class: id.optional(),
  kind: z.enum(["crawler", "robots_only", "no_user_agent"]).optional(),
  match: match.optional(),
  verify: z.preprocess(toList, z.array(verifier).min(1).optional()),
  robots_token: z.string().optional(),
  obeys_robots: z.enum(["yes", "no", "partial"]).optional(),
  ...provenance,
  note: text.optional(),
  examples: z.array(text).optional(),
  counterexamples: z.array(text).optional(),
});

const catalogFile = z.strictObject({
  operator: text.optional(),
  ...provenance,
  bots: z.array(entry).min(1),
});

type FileContent = z.output<typeof catalogFile>;
type WrittenEntry = z.output<typeof entry>;
type WrittenVerifier = z.output<typeof verifier>;
type Path = readonly PropertyKey[];

function toList(value: unknown): unknown {
  return value === undefined || Array.isArray(value) ? value : [value];
}

function toMs(written: string): number {
  const [, amount = "0", unit = "s"] = DURATION.exec(written) ?? [];
  return Number(amount) * (UNIT_MS[unit] ?? 0);
}

/** What stands in the documents, laid over the entries of `base`, and every fault. */
export function readEntries(
  documents: readonly CatalogDocument[],
  base: ReadonlyMap<string, CatalogEntry>,
): { readonly entries: ReadonlyMap<string, CatalogEntry>; readonly errors: readonly Fault[] } {
  const entries = new Map<string, CatalogEntry>();
  const errors: Fault[] = [];
  for (const document of documents) {
    const page = readPage(document);
    errors.push(...page.errors);
    for (const [index, written] of (page.content?.bots ?? []).entries()) {
      const under = base.get(written.id);
      for (const missing of missingFields(page.content, written, under)) {
        errors.push(page.fault(["bots", index], `\`${written.id}\` needs \`${missing}\``));
      }
      const earlier = entries.get(written.id);
      if (earlier !== undefined) {
        const message = `\`${written.id}\` is in \`${earlier.file}\` already; ids are unique`;
        errors.push(page.fault(["bots", index, "id"], message));
      }
      entries.set(written.id, complete(document.file, page.content, written, under));
    }
  }
  return { entries, errors };
}

interface Page {
  readonly content: FileContent | undefined;
  readonly errors: readonly Fault[];
  readonly fault: (path: Path, message: string) => Fault;
}

function readPage({ file, text: yaml }: CatalogDocument): Page {
  const lines = new LineCounter();
  const document = parseDocument(yaml, { lineCounter: lines, prettyErrors: false });
  const faultAt = (offset: number, path: Path, message: string): Fault => {
    const { line, col } = lines.linePos(offset);
    return {
      file,
      line: Math.max(1, line),
      column: Math.max(1, col),
      path: pathText(path),
      message,
    };
  };
  const fault = (path: Path, message: string): Fault => {
    for (let length = path.length; length > 0; length--) {
      const node = document.getIn(path.slice(0, length), true);
      if (isNode(node) && node.range) return faultAt(node.range[0], path, message);
    }
    return faultAt(0, path, message);
  };
  if (document.errors.length > 0) {
    const errors = document.errors.map((error) => faultAt(error.pos[0], [], error.message));
    return { content: undefined, errors, fault };
  }
  const parsed = catalogFile.safeParse(document.toJS());
  if (parsed.success) return { content: parsed.data, errors: [], fault };
  return { content: undefined, errors: parsed.error.issues.flatMap(toFaults(fault)), fault };
}

const KNOWN_KEYS = new Set([
  ...Object.keys(catalogFile.shape),
  ...Object.keys(entry.shape),
  ...Object.keys(match.shape),
  ...verifier.options.flatMap((option) => Object.keys(option.shape)),
  "url",
  "format",
  "pointer",
]);

function toFaults(fault: Page["fault"]): (issue: z.core.$ZodIssue) => Fault[] {
  return (issue) => {
    if (issue.code !== "unrecognized_keys") return [fault(issue.path, lowerFirst(issue.message))];
    return issue.keys.map((key) => {
      const near = nearest(key, KNOWN_KEYS);
      const hint = near === undefined ? "" : `; did you mean \`${near}\`?`;
      return fault([...issue.path, key], `unknown key \`${key}\`${hint}`);
    });
  };
}

function lowerFirst(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1);
}

/** `bots[2].verify.type`, as a person would write it. */
function pathText(path: Path): string {
  return path
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
    .join("")
    .replace(/^\./, "");
}

function missingFields(
  content: FileContent | undefined,
  written: WrittenEntry,
  under: CatalogEntry | undefined,
): readonly string[] {
  if (under !== undefined) return [];
  const present = { ...content, ...written } as const;
  const required = ["operator", "name", "class", "match", "docs", "confidence", "checked"] as const;
  return required.filter((field) => present[field] === undefined && !isExcused(written, field));
}

function isExcused(written: WrittenEntry, field: string): boolean {
  return field === "match" && written.kind === "no_user_agent";
}

function complete(
  file: string,
  content: FileContent | undefined,
  written: WrittenEntry,
  under: CatalogEntry | undefined,
): CatalogEntry {
  return {
    bot: toBot(content?.operator, written, under?.bot),
    kind: written.kind ?? under?.kind ?? "crawler",
    docs: written.docs ?? content?.docs ?? under?.docs ?? "",
    confidence: written.confidence ?? content?.confidence ?? under?.confidence ?? "observed",
    checked: written.checked ?? content?.checked ?? under?.checked ?? "",
    obeysRobots: written.obeys_robots ?? under?.obeysRobots,
    note: written.note ?? under?.note ?? "",
    examples: written.examples ?? under?.examples ?? [],
    counterexamples: written.counterexamples ?? under?.counterexamples ?? [],
    file,
  };
}

function toBot(operator: string | undefined, written: WrittenEntry, under: Bot | undefined): Bot {
  return {
    id: written.id,
    name: written.name ?? under?.name ?? written.id,
    class: written.class ?? under?.class ?? "unknown",
    operator: operator ?? under?.operator ?? "",
    match: toMatch(written.match) ?? under?.match ?? NO_MATCH,
    verifiers: written.verify?.flatMap(toVerifier) ?? under?.verifiers ?? [],
    robotsToken: written.robots_token ?? under?.robotsToken ?? "",
    isDefault: false,
  };
}

const NO_MATCH: UserAgentMatch = { userAgents: [], exact: [], anchored: [], mustNot: [] };

function toMatch(written: WrittenEntry["match"]): UserAgentMatch | undefined {
  if (written === undefined) return undefined;
  return {
    userAgents: written.user_agents,
    exact: written.exact,
    anchored: written.anchored,
    mustNot: written.must_not,
  };
}

function toVerifier(written: WrittenVerifier): BotVerifier[] {
  switch (written.type) {
    case "none":
      return [];
    case "ip_ranges":
      return [
        {
          kind: "ip_ranges",
          sources: written.sources.map(({ url, format, pointer }) => ({
            kind: "url",
            url,
            format,
            pointer,
          })),
          refreshMs: written.refresh,
          staleAction: written.stale_action,
          maxStaleMs: written.max_stale,
        },
      ];
    case "reverse_dns":
      return [{ kind: "reverse_dns", allowedSuffixes: written.allowed_suffixes }];
    case "static_ranges":
      return [{ kind: "static_ranges", cidrs: written.cidrs }];
    case "web_bot_auth":
      return [{ kind: "web_bot_auth", directories: written.directories }];
  }
}
