import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { lintPolicies } from "../../../src/core/policy/compile.ts";
import { formatFault } from "../../../src/core/policy/fault.ts";

const ROOT = new URL("../../../", import.meta.url);
const POLICIES = new URL("test/fixtures/policies/lint/", ROOT);

const codes = readdirSync(POLICIES)
  .filter((name) => !name.endsWith(".near.yaml"))
  .map((name) => name.replace(".yaml", ""));

function warningsOf(name: string): readonly string[] {
  const text = readFileSync(new URL(name, POLICIES), "utf8");
  const compiled = lintPolicies([{ file: name, text }], { catalog: new Map() });
  if (compiled.kind === "faulty") throw new Error(compiled.errors.map(formatFault).join("\n"));
  return compiled.warnings.map(({ code }) => code);
}

test.each(codes)("%s is told of the policy that has it", (code) => {
  expect(warningsOf(`${code}.yaml`)).toContain(code);
});

test.each(codes)("%s is not told of the policy that nearly has it", (code) => {
  expect(warningsOf(`${code}.near.yaml`)).not.toContain(code);
});

/** What a policy may be told, as the code that tells it spells it. */
const told = ["lint.ts", "warnings.ts"].flatMap((file) => {
  const text = readFileSync(new URL(`src/core/policy/${file}`, ROOT), "utf8");
  return [...text.matchAll(/\b(?:finding|notice)\(\s*"([a-z_]+)"/g)].map(([, code = ""]) => code);
});

test("every code has its two policies", () => {
  const shown = new Set(codes);
  expect(told.filter((code) => !shown.has(code))).toEqual([]);
  expect(told.length).toBeGreaterThanOrEqual(15);
});

test("every code is explained in the guide", () => {
  const guide = readFileSync(new URL("docs/policy.md", ROOT), "utf8");
  expect(told.filter((code) => !guide.includes(`\n| \`${code}\` |`))).toEqual([]);
});
