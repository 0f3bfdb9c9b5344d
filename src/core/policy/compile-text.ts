import type { Catalog } from "../bot/catalog.ts";
import { type CheckedExpression, checkCondition } from "../cel/check.ts";
import { type CelEnvironment, createEnvironment } from "../cel/environment.ts";
import { type Path, readDocument, type SourceDocument } from "../yaml/document.ts";
import { faultAt, faultsOf, formatPath } from "../yaml/schema-faults.ts";
import { type BotTable, compileBots } from "./compile-bots.ts";
import { createPolicy } from "./create-policy.ts";
import type { Fault, Warning } from "./fault.ts";
import { hashPolicy, type PolicyContent } from "./hash.ts";
import { DEFAULT_RULE_ID, type Policy, type Rule } from "./policy.ts";
import {
  itemsOf,
  memberOf,
  type PolicyReading,
  type PolicySource,
  readPolicy,
} from "./schema/policy-file.ts";
import { type IndexedRule, type Notice, noticesOf } from "./warnings.ts";

/** A policy file's text; `file` is what people are told. */
export interface PolicyText {
  readonly file: string;
  readonly text: string;
}

/** What a policy may refer to beyond its own text. */
export interface PolicyWorld {
  /** Read only where a policy says `use:`. */
  readonly catalog: Catalog;
  /** Whether a file that a policy names, from its own folder on, is there; not looked at when absent. */
  readonly hasFile?: (policyFile: string, named: string) => boolean;
}

/** A policy that can run, or all that is wrong with it. */
export type CompiledPolicy =
  | {
      readonly kind: "policy";
      readonly policy: Policy;
      readonly warnings: readonly Warning[];
    }
  | {
      readonly kind: "faulty";
      readonly errors: readonly Fault[];
      readonly warnings: readonly Warning[];
    };

/** Keys whose numbers and booleans are kept as written: a price keeps its digits. */
const VERBATIM: ReadonlySet<string> = new Set(["amount", "when"]);

/** A compiled policy with the document that it came from, for faults across files. */
export interface CompiledText {
  readonly result: CompiledPolicy;
  readonly document: SourceDocument | undefined;
  /** The entry of `bots` from which each bot came, by its id. */
  readonly botIndexes: ReadonlyMap<string, number>;
}

/** Compiles one policy file, or tells every fault in it, in order of lines. */
export function compileText({ file, text }: PolicyText, world: PolicyWorld): CompiledText {
  const { document, faults } = readDocument(file, text, VERBATIM);
  if (document === undefined) {
    return { result: faulty(faults), document, botIndexes: new Map() };
  }
  const reading = readPolicy(document.value);
  const bots = compileBots(reading.bots, world);
  const conditions = checkConditions(document, reading);
  const errors = [
    ...faults,
    ...faultsOf(document, reading.issues),
    ...bots.errors.map(({ path, message }) => faultAt(document, path, message)),
    ...conditions.errors,
    ...repeatedRules(document),
  ];
  const { source } = reading;
  const result =
    source === undefined || errors.length > 0
      ? faulty(errors)
      : assemblePolicy(document, source, bots, conditions.checked);
  return { result, document, botIndexes: bots.indexes };
}

function faulty(faults: readonly Fault[]): CompiledPolicy {
  return { kind: "faulty", errors: sorted(faults), warnings: [] };
}

function sorted<T extends Fault>(faults: readonly T[]): readonly T[] {
  return faults.toSorted((left, right) => left.line - right.line || left.column - right.column);
}

interface Conditions {
  readonly checked: ReadonlyMap<number, CheckedExpression>;
  readonly errors: readonly Fault[];
}

/** Checks every condition that is a text, in rules that are faulty elsewhere too. */
function checkConditions(document: SourceDocument, reading: PolicyReading): Conditions {
  const environment = createEnvironment({ sets: reading.sets ?? new Map() });
  const checked = new Map<number, CheckedExpression>();
  const errors: Fault[] = [];
  for (const [index, when] of conditionsOf(document).entries()) {
    if (when === undefined) continue;
    // Faulty sets have been told; that their names are unknown would be an echo.
    if (reading.sets === undefined && when.includes("sets")) continue;
    const result = checkAt(document, ["rules", index, "when"], when, environment);
    if (result.kind === "checked") checked.set(index, result.expression);
    else errors.push(...result.errors);
  }
  return { checked, errors };
}

/** By index of the rule; undefined where there is no text to check. */
function conditionsOf(document: SourceDocument): readonly (string | undefined)[] {
  return itemsOf(memberOf(document.value, "rules")).map((rule) => {
    const when = memberOf(rule, "when");
    return typeof when === "string" && when.trim() !== "" ? when : undefined;
  });
}

type CheckedAt =
  | { readonly kind: "checked"; readonly expression: CheckedExpression }
  | { readonly kind: "faulty"; readonly errors: readonly Fault[] };

function checkAt(
  document: SourceDocument,
  path: Path,
  when: string,
  environment: CelEnvironment,
): CheckedAt {
  const result = checkCondition(when, environment);
  if (result.kind === "checked") return result;
  const errors = result.faults.map((fault) => ({
    file: document.file,
    ...document.inside(path, offsetOf(when, fault)),
    path: formatPath(path),
    message: fault.message,
  }));
  return { kind: "faulty", errors };
}

function offsetOf(text: string, place: { readonly line: number; readonly column: number }): number {
  let start = 0;
  for (let line = 1; line < place.line; line++) start = text.indexOf("\n", start) + 1;
  return start + place.column - 1;
}

function repeatedRules(document: SourceDocument): readonly Fault[] {
  const first = new Map<string, number>();
  const errors: Fault[] = [];
  for (const [index, rule] of itemsOf(memberOf(document.value, "rules")).entries()) {
    const id = memberOf(rule, "id");
    if (typeof id !== "string") continue;
    const earlier = first.get(id);
    if (earlier === undefined) {
      first.set(id, index);
      continue;
    }
    const message = `\`${id}\` is the id of \`rules[${earlier}]\` too; ids are unique`;
    errors.push(faultAt(document, ["rules", index, "id"], message));
  }
  return errors;
}

function assemblePolicy(
  document: SourceDocument,
  source: PolicySource,
  { bots, claimants, defaultBot, indexes }: BotTable,
  checked: ReadonlyMap<number, CheckedExpression>,
): CompiledPolicy {
  const indexed = indexRules(source, checked);
  const rules = indexed.map(({ rule }) => rule);
  const content: PolicyContent = {
    site: source.site,
    failMode: source.runtime.failMode,
    verify: source.runtime.verify,
    robots: source.robots,
    ledger: source.ledger,
    receipts: source.receipts,
    bots,
    defaultBot,
    sets: source.sets,
    rules,
    defaultRule: defaultRule(source),
  };
  const { file } = document;
  const policy = createPolicy({ ...content, claimants, file, hash: hashPolicy(content) });
  const placed = bots.map((bot) => ({ bot, index: indexes.get(bot.id) ?? 0 }));
  const notices = noticesOf(policy, placed, indexed);
  const warnings = notices.map((notice) => toWarning(document, notice));
  return { kind: "policy", policy, warnings: sorted(warnings) };
}

/** In order of evaluation: by priority, then as written. */
function indexRules(
  source: PolicySource,
  checked: ReadonlyMap<number, CheckedExpression>,
): readonly IndexedRule[] {
  return source.rules
    .map((rule, index) => ({ index, rule: { ...rule, when: checked.get(index) } }))
    .toSorted((left, right) => left.rule.priority - right.rule.priority);
}

function defaultRule({ runtime }: PolicySource): Rule {
  return {
    id: DEFAULT_RULE_ID,
    priority: undefined,
    when: undefined,
    action: runtime.defaultAction,
    mode: "enforce",
    receipt: false,
    tags: [],
  };
}

function toWarning(document: SourceDocument, notice: Notice): Warning {
  const { code, path, message, place } = notice;
  if (place === undefined) return { ...faultAt(document, path, message), code };
  const text = path.reduce<unknown>(
    (value, step) => (typeof step === "number" ? itemsOf(value)[step] : memberOf(value, step)),
    document.value,
  );
  const offset = typeof text === "string" ? offsetOf(text, place) : 0;
  return { ...faultAt(document, path, message), ...document.inside(path, offset), code };
}
