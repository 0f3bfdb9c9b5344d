import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { compilePolicy } from "../../../src/core/policy/compile.ts";

const GOOD = new URL("../../fixtures/policies/good/", import.meta.url);
const texts = readdirSync(GOOD).map((name) => readFileSync(new URL(name, GOOD), "utf8"));

const JUNK = [
  "",
  "null",
  "[]",
  "{}",
  "- ",
  "*x",
  "&x ",
  '"',
  "'",
  "|",
  ">",
  ": ",
  "#",
  "\t",
  "-1",
  "1e400",
  ".nan",
  "true",
  "\u{0}",
  "\ud800",
  "é",
  "🦊",
  "__proto__: 1",
  "constructor: 1",
  "!!binary x",
];

/** A good policy with a few pieces cut out or put in. */
const damaged = fc
  .tuple(
    fc.constantFrom(...texts),
    fc.array(
      fc.record({
        at: fc.double({ min: 0, max: 1, noNaN: true }),
        cut: fc.integer({ min: 0, max: 30 }),
        junk: fc.constantFrom(...JUNK),
      }),
      { minLength: 1, maxLength: 4 },
    ),
  )
  .map(([text, cuts]) =>
    cuts.reduce((result, { at, cut, junk }) => {
      const start = Math.floor(at * result.length);
      return result.slice(0, start) + junk + result.slice(start + cut);
    }, text),
  );

test("a damaged policy is compiled or refused with places in the file, and nothing is thrown", () => {
  fc.assert(
    fc.property(damaged, (text) => {
      const compiled = compilePolicy({ file: "a.yaml", text }, { catalog: new Map() });
      if (compiled.kind === "policy") return;
      expect(compiled.errors).not.toEqual([]);
      const lines = text.split("\n");
      for (const { line, column, message } of compiled.errors) {
        expect(line).toBeLessThanOrEqual(lines.length);
        expect(column).toBeLessThanOrEqual((lines[line - 1]?.length ?? 0) + 1);
        expect(message).not.toMatch(/undefined|\[object|\.$/);
      }
    }),
    { numRuns: 400 },
  );
});
