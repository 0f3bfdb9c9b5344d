/** Work in steps, so that whoever does it may do something else between two of them. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** Does all the steps at once. */
export function finish<Result>(steps: Steps<Result>): Result {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}
