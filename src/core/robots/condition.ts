import type { Formula, TextsFormula } from "./formula.ts";
import type { Glob } from "./glob.ts";

/** What a rule comes to in robots.txt, with what its formula names. */
export interface Condition {
  readonly formula: Formula;
  /** Literals that the path is compared with: as a whole, or as its start. */
  readonly texts: readonly string[];
  readonly globs: readonly Glob[];
  /** Why parts of it are unknown, for people; empty where a path alone decides. */
  readonly causes: readonly string[];
  /** It holds nowhere but on these; undefined where that cannot be said. */
  readonly guard: Guard | undefined;
}

/** Some whole paths, and starts of others. */
export type Guard = Pick<TextsFormula, "exact" | "prefixes">;

/** Goes through a formula once, for the many crawlers that share it. */
export function conditionOf(formula: Formula): Condition {
  const parts = [...everyPart(formula)];
  return {
    formula,
    texts: parts.flatMap((part) => {
      return part.kind === "texts" ? [...part.exact, ...part.prefixes] : [];
    }),
    globs: parts.flatMap((part) => (part.kind === "globs" ? part.globs : [])),
    causes: [...new Set(parts.flatMap((part) => (part.kind === "unknown" ? [part.cause] : [])))],
    guard: guardOf(formula),
  };
}

/** A formula and all parts of it, outer ones first. */
function* everyPart(formula: Formula): Generator<Formula> {
  yield formula;
  if ("parts" in formula) for (const part of formula.parts) yield* everyPart(part);
}

const NOWHERE: Guard = { exact: [], prefixes: [] };

function guardOf(formula: Formula): Guard | undefined {
  switch (formula.kind) {
    case "known":
      return formula.value ? undefined : NOWHERE;
    case "failure":
      return NOWHERE;
    case "texts":
      return formula;
    case "every":
      return narrowest(formula.parts.map(guardOf));
    case "some":
      return joined(formula.parts.map(guardOf));
    case "choice":
      return joined(formula.parts.slice(1).map(guardOf));
    case "globs":
    case "not":
    case "one":
    case "unknown":
      return undefined;
  }
}

function narrowest(guards: readonly (Guard | undefined)[]): Guard | undefined {
  const width = ({ exact, prefixes }: Guard): number => exact.length + prefixes.length;
  return guards
    .filter((guard) => guard !== undefined)
    .toSorted((left, right) => width(left) - width(right))[0];
}

function joined(guards: readonly (Guard | undefined)[]): Guard | undefined {
  const known = guards.filter((guard) => guard !== undefined);
  if (known.length < guards.length) return undefined;
  return {
    exact: known.flatMap(({ exact }) => exact),
    prefixes: known.flatMap(({ prefixes }) => prefixes),
  };
}
