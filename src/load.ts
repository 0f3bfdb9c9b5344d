import { parseCatalog } from "./core/bot/catalog.ts";
import { compilePolicies } from "./core/policy/compile.ts";
import { type Fault, formatFault, type Warning } from "./core/policy/fault.ts";
import type { Policy } from "./core/policy/policy.ts";
import { readPolicyTexts } from "./io/policy-files.ts";

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
  const checked = checkPolicies(path);
  if (checked.kind === "unreadable") return { kind: "faulty", faults: checked.causes };
  const { policies, errors, warnings } = checked;
  if (errors.length > 0) return { kind: "faulty", faults: errors.map(formatFault) };
  return { kind: "loaded", policies, warnings };
}

/** As `loadPolicies`, with the place of every fault. */
export function checkPolicies(path: string): Checked {
  const read = readPolicyTexts(path);
  if (read.kind === "unreadable") return read;
  const { texts } = read;
  const packaged = parseCatalog(texts.catalog);
  if (packaged.kind === "faulty") return faulty(packaged.errors, []);
  const catalog = parseCatalog(texts.overlay, packaged.catalog);
  if (catalog.kind === "faulty") return faulty(catalog.errors, []);
  const compiled = compilePolicies(texts.policies, { catalog: catalog.catalog });
  if (compiled.kind === "faulty") return faulty(compiled.errors, compiled.warnings);
  return {
    kind: "checked",
    policies: compiled.policies,
    errors: [],
    warnings: compiled.warnings,
  };
}

function faulty(errors: readonly Fault[], warnings: readonly Warning[]): Checked {
  return { kind: "checked", policies: [], errors, warnings };
}
