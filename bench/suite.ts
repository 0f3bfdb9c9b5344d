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
 * clock is looked at once every `batch` operations. What `operation` returns is kept alive, so that
 * no compiler can leave the work out.
 */
export function operationsPerSecond(
  seconds: number,
  batch: number,
  operation: (count: number) => unknown,
): number {
  const start = performance.now();
  const end = start + seconds * 1000;
  let count = 0;
  do {
    for (let index = 0; index < batch; index++) kept = operation(count++);
  } while (performance.now() < end);
  return (count / (performance.now() - start)) * 1000;
}

/** The last result; exported so that it cannot be optimised away. */
export let kept: unknown;
