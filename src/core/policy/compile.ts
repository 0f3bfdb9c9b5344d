import type { Path, SourceDocument } from "../yaml/document.ts";
import { faultAt } from "../yaml/schema-faults.ts";
import {
  type CompiledPolicy,
  type CompiledText,
  compileText,
  type PolicyText,
  type PolicyWorld,
} from "./compile-text.ts";
import type { Fault, Warning } from "./fault.ts";
import { createSiteLookup, type SiteLookup } from "./hosts.ts";
import { lintWarnings } from "./lint-warnings.ts";
import { missingFiles } from "./missing-files.ts";
import type { Policy } from "./policy.ts";
import { robotsWarnings } from "./robots-warnings.ts";
import { memberOf } from "./schema/policy-file.ts";

/** All policies of one server, or all that is wrong with any of them. */
export type CompiledPolicies =
  | {
      readonly kind: "policies";
      /** In the order of the documents. */
      readonly policies: readonly Policy[];
      readonly findSite: SiteLookup<Policy>;
      readonly warnings: readonly Warning[];
    }
  | {
      readonly kind: "faulty";
      readonly errors: readonly Fault[];
      readonly warnings: readonly Warning[];
    };

/** Compiles one policy file, or tells every fault in it, in order of lines. */
export function compilePolicy(text: PolicyText, world: PolicyWorld): CompiledPolicy {
  return compileText(text, world).result;
}

/** Compiles policy files that serve together: every site id and every host is of one file. */
export function compilePolicies(
  texts: readonly PolicyText[],
  world: PolicyWorld,
): CompiledPolicies {
  return joinPolicies(texts.map((text) => compileText(text, world)));
}

/**
 * As `compilePolicies`, with all that lint finds among the warnings, what the robots.txt of a site
 * does not say, and files that are not there: slower, so not for serving.
 */
export function lintPolicies(texts: readonly PolicyText[], world: PolicyWorld): CompiledPolicies {
  const compiled = texts.map((text) => compileText(text, world));
  const joined = joinPolicies(compiled);
  const found = compiled.flatMap((one) => [
    ...lintWarnings(one),
    ...robotsWarnings(one),
    ...missingFiles(one, world),
  ]);
  const warnings = [...joined.warnings, ...found];
  return { ...joined, warnings: warnings.toSorted(inFileOrder) };
}

function inFileOrder(left: Fault, right: Fault): number {
  if (left.file !== right.file) return left.file < right.file ? -1 : 1;
  return left.line - right.line || left.column - right.column;
}

function joinPolicies(compiled: readonly CompiledText[]): CompiledPolicies {
  const results = compiled.map(({ result }) => result);
  const warnings = results.flatMap((result) => result.warnings);
  const errors = [
    ...results.flatMap((result) => (result.kind === "faulty" ? result.errors : [])),
    ...sharedNames(compiled),
  ];
  if (errors.length > 0) return { kind: "faulty", errors, warnings };
  const policies = results.flatMap((result) => (result.kind === "policy" ? [result.policy] : []));
  return { kind: "policies", policies, findSite: createSiteLookup(policies), warnings };
}

/** A name that one site alone may have. */
interface Claim {
  readonly kind: "id" | "host";
  readonly name: string;
  readonly path: Path;
}

function sharedNames(compiled: readonly CompiledText[]): readonly Fault[] {
  const owners = new Map<string, string>();
  const errors: Fault[] = [];
  for (const { result, document } of compiled) {
    if (result.kind === "faulty" || document === undefined) continue;
    for (const { kind, name, path } of claimsOf(document, result.policy)) {
      const owner = owners.get(`${kind} ${name}`);
      if (owner === undefined) owners.set(`${kind} ${name}`, document.file);
      else errors.push(faultAt(document, path, sharedMessage(kind, name, owner)));
    }
  }
  return errors;
}

function claimsOf(document: SourceDocument, { site }: Policy): readonly Claim[] {
  const isList = memberOf(memberOf(document.value, "site"), "hosts") !== undefined;
  const hosts = site.hosts.map((name, index): Claim => {
    return { kind: "host", name, path: isList ? ["site", "hosts", index] : ["site", "host"] };
  });
  return [{ kind: "id", name: site.id, path: ["site", "id"] }, ...hosts];
}

function sharedMessage(kind: Claim["kind"], name: string, owner: string): string {
  const word = kind === "id" ? "the id" : "a host";
  return `\`${name}\` is ${word} of \`${owner}\` already`;
}
