/** What a file in `bench/suites` exports as `suite`. */
export interface Suite {
  /** What is measured against what, in a line. */
  readonly title: string;
  /** Of the rates: `requests/s`. */
  readonly unit: string;
  /** Seconds that each contender is measured for in a round, where `--seconds` does not say. */
  readonly seconds: number;
  /** Starts what the contenders need. */
  open(): OpenSuite | Promise<OpenSuite>;
}

/** A suite whose programs run. */
export interface OpenSuite {
  /** The first is the base that ratios are made to. */
  readonly contenders: readonly [Contender, ...Contender[]];
  readonly goals: readonly Goal[];
  /** Measured once, before any load. */
  readonly facts: readonly Fact[];
  close(): void | Promise<void>;
}

/** One of the things that are compared. */
export interface Contender {
  readonly name: string;
  /** Where the work is done in another process, whose processor time is then told (Linux). */
  readonly processId?: number | undefined;
  /** Works for about so many seconds, and returns how many operations a second were done. */
  measure(seconds: number): number | Promise<number>;
}

/** A ratio of rates to be reached. */
export interface Goal {
  readonly contender: string;
  readonly against: string;
  readonly atLeast: number;
}

/** A value besides the rates: a size, a count. */
export interface Fact {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** To be reached, where there is such a limit. */
  readonly atMost: number | undefined;
}

/**
 * Runs an operation over and over for about so many seconds, and returns how often a second. The
 * clock is looked at once every `batch` operations.
 */
export function operationsPerSecond(
  seconds: number,
  batch: number,
  operation: (count: number) => unknown,
): number {
  const start = performance.now();
  const end = start + seconds * 1000;
  let count = 0;
  let last: unknown;
  do {
    for (let index = 0; index < batch; index++) last = operation(count++);
  } while (performance.now() < end);
  // No compiler may leave out work whose result is looked at.
  if (last === NOTHING) throw new Error("an operation returned what nobody has");
  return (count / (performance.now() - start)) * 1000;
}

const NOTHING = Symbol("nothing");
