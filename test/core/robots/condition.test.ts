import fc from "fast-check";
import { expect, test } from "vitest";
import { createTextIndex } from "../../../src/core/cel/text-index.ts";
import { conditionOf } from "../../../src/core/robots/condition.ts";
import { type Formula, HOLDS, outcomesOf } from "../../../src/core/robots/formula.ts";

const path = fc.stringMatching(/^\/[ab]{0,3}$/);
const paths = fc.array(path, { maxLength: 2 });

function texts(exact: readonly string[], prefixes: readonly string[]): Formula {
  const ranked = (all: readonly string[]) => new Map(all.map((text) => [text, 0]));
  return {
    kind: "texts",
    exact,
    prefixes,
    index: createTextIndex(ranked(exact), ranked(prefixes)),
  };
}

const leaf: fc.Arbitrary<Formula> = fc.oneof(
  fc.tuple(paths, paths).map(([exact, prefixes]) => texts(exact, prefixes)),
  fc.boolean().map((value): Formula => ({ kind: "known", value })),
  fc.boolean().map((mayFail): Formula => ({ kind: "unknown", cause: "a header", mayFail })),
  fc.constant<Formula>({ kind: "failure" }),
  fc.constant<Formula>({
    kind: "globs",
    globs: [{ pieces: ["b"], isStart: false, isEnd: true }],
  }),
);

const formulas = fc.letrec<{ tree: Formula }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    tie("tree").map((part): Formula => ({ kind: "not", parts: [part] })),
    fc
      .tuple(tie("tree"), tie("tree"), tie("tree"))
      .map((parts): Formula => ({ kind: "choice", parts })),
    fc
      .tuple(
        fc.constantFrom<"every" | "some" | "one">("every", "some", "one"),
        fc.array(tie("tree"), { maxLength: 3 }),
      )
      .map(([kind, parts]): Formula => ({ kind, parts })),
  ),
})).tree;

test("a condition holds at no path that its guard keeps out", () => {
  fc.assert(
    fc.property(formulas, path, (formula, target) => {
      const { guard } = conditionOf(formula);
      const isKeptOut =
        guard !== undefined &&
        !guard.exact.includes(target) &&
        !guard.prefixes.some((prefix) => target.startsWith(prefix));
      if (isKeptOut) expect(outcomesOf(formula, target) & HOLDS).toBe(0);
    }),
    { numRuns: 3000 },
  );
});
