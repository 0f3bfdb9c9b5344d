import { parseCatalog } from "./core/bot/catalog.ts";
import { compilePolicies } from "./core/policy/compile.ts";
import { formatFault, type Warning } from "./core/policy/fault.ts";
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

/** Reads and compiles a policy file or a folder of them, with the catalog they may use. */
export function loadPolicies(path: string): Loaded {
  const read = readPolicyTexts(path);
  if (read.kind === "unreadable") return { kind: "faulty", faults: read.causes };
  const { texts } = read;
  const packaged = parseCatalog(texts.catalog);
  if (packaged.kind === "faulty")
    return { kind: "faulty", faults: packaged.errors.map(formatFault) };
  const catalog = parseCatalog(texts.overlay, packaged.catalog);
  if (catalog.kind === "faulty") return { kind: "faulty", faults: catalog.errors.map(formatFault) };
  const compiled = compilePolicies(texts.policies, { catalog: catalog.catalog });
  if (compiled.kind === "faulty")
    return { kind: "faulty", faults: compiled.errors.map(formatFault) };
  return { kind: "loaded", policies: compiled.policies, warnings: compiled.warnings };
}
