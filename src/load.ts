import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type ParsedCatalog, parseCatalog } from "./core/bot/catalog.ts";
import { compilePolicies, lintPolicies } from "./core/policy/compile.ts";
import type { PolicyWorld } from "./core/policy/compile-text.ts";
import { type Fault, formatFault, type Warning } from "./core/policy/fault.ts";
import type { Policy } from "./core/policy/policy.ts";
import { type PolicyTexts, readPolicyTexts } from "./io/policy-files.ts";

/** A set of policies read and compiled, or every reason why not, a line each. */
export type Loaded =
  | {
      readonly kind: "loaded";
      readonly policies: readonly Policy[];
      readonly warnings: readonly Warning[];
    }
  | { readonly kind: "faulty"; readonly faults: readonly string[] };

/** What is wrong with a set of policies, with places; or why its files cannot be read. */
export type Checked =
  | {
      readonly kind: "checked";
      /** Empty when there are errors. */
      readonly policies: readonly Policy[];
      readonly errors: readonly Fault[];
      readonly warnings: readonly Warning[];
    }
  | { readonly kind: "unreadable"; readonly causes: readonly string[] };

/** Reads and compiles a policy file or a folder of them, with the catalog they may use. */
export function loadPolicies(path: string): Loaded {
  const checked = readAndCompile(path, compilePolicies);
  if (checked.kind === "unreadable") return { kind: "faulty", faults: checked.causes };
  const { policies, errors, warnings } = checked;
  if (errors.length > 0) return { kind: "faulty", faults: errors.map(formatFault) };
  return { kind: "loaded", policies, warnings };
}

/** As `loadPolicies`, with the place of every fault, and with all that lint finds. */
export function checkPolicies(path: string): Checked {
  return readAndCompile(path, lintPolicies);
}

function hasFile(policyFile: string, named: string): boolean {
  return existsSync(resolve(dirname(policyFile), named));
}

function readAndCompile(path: string, compile: typeof compilePolicies): Checked {
  const read = readPolicyTexts(path);
  if (read.kind === "unreadable") return read;
  const { texts } = read;
  const world = worldOf(texts);
  const compiled = compile(texts.policies, world);
  const errors = [...world.catalogErrors(), ...(compiled.kind === "faulty" ? compiled.errors : [])];
  if (compiled.kind === "faulty" || errors.length > 0) return faulty(errors, compiled.warnings);
  return {
    kind: "checked",
    policies: compiled.policies,
    errors: [],
    warnings: compiled.warnings,
  };
}

interface World extends PolicyWorld {
  catalogErrors(): readonly Fault[];
}

/** Hundreds of crawlers are parsed only for a policy that uses one, or to check the operator's own. */
function worldOf(texts: PolicyTexts): World {
  let parsed: ParsedCatalog | undefined = texts.overlay.length > 0 ? parseBoth(texts) : undefined;
  return {
    get catalog() {
      parsed ??= parseBoth(texts);
      return parsed.kind === "catalog" ? parsed.catalog : new Map();
    },
    hasFile,
    catalogErrors: () => (parsed?.kind === "faulty" ? parsed.errors : []),
  };
}

function parseBoth(texts: PolicyTexts): ParsedCatalog {
  const packaged = parseCatalog(texts.catalog);
  return packaged.kind === "faulty" ? packaged : parseCatalog(texts.overlay, packaged.catalog);
}

function faulty(errors: readonly Fault[], warnings: readonly Warning[]): Checked {
  return { kind: "checked", policies: [], errors, warnings };
}
