import type { CelValue } from "@bufbuild/cel";
import type { CrawlRequest } from "../../request.ts";
import type { Run } from "../predicate.ts";
import { Failure } from "../term.ts";

/** The values of several terms, or the failure of the first that has none. */
export function runAll(
  runs: readonly Run[],
  request: CrawlRequest,
  path: string,
): CelValue[] | Failure {
  const values: CelValue[] = [];
  for (const run of runs) {
    const value = run(request, path);
    if (value instanceof Failure) return value;
    values.push(value);
  }
  return values;
}
