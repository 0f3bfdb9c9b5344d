import { readFileSync } from "node:fs";
import type { Contender, Fact, Goal, OpenSuite, Suite } from "./suite.ts";

/** How long and how often. */
export interface Effort {
  readonly rounds: number;
  /** Undefined leaves it to the suite. */
  readonly seconds: number | undefined;
}

export interface ContenderResult {
  readonly name: string;
  /** Of the rates of all rounds. */
  readonly median: number;
  readonly min: number;
  readonly max: number;
  /** To the base, the median of the ratios within each round. */
  readonly ratio: number;
  /** Processor time of its own process for an operation, in microseconds; unlike a rate it hardly
   * changes when the machine is busy. */
  readonly cpuMicroseconds: number | undefined;
}

export interface GoalResult extends Goal {
  readonly ratio: number;
  readonly reached: boolean;
}

export interface FactResult extends Fact {
  readonly reached: boolean;
}

/** All that a suite found. */
export interface SuiteResult {
  readonly suite: string;
  readonly title: string;
  readonly unit: string;
  readonly rounds: number;
  readonly contenders: readonly ContenderResult[];
  readonly goals: readonly GoalResult[];
  readonly facts: readonly FactResult[];
}

/** Runs one suite from start to end. `tell` hears of each round. */
export async function runSuite(
  name: string,
  suite: Suite,
  effort: Effort,
  tell: (line: string) => void,
): Promise<SuiteResult> {
  const open = await suite.open();
  try {
    const rates = await measureRounds(open, effort.seconds ?? suite.seconds, effort.rounds, tell);
    return {
      suite: name,
      title: suite.title,
      unit: suite.unit,
      rounds: effort.rounds,
      contenders: open.contenders.map((contender) => summarise(contender, open, rates)),
      goals: open.goals.map((goal) => judge(goal, rates)),
      facts: open.facts.map((fact) => ({
        ...fact,
        reached: fact.atMost === undefined || fact.value <= fact.atMost,
      })),
    };
  } finally {
    await open.close();
  }
}

/** Code that has run for a while is other code: it has been compiled for what it does. */
const WARM_UP = 3;

/** By contender, what each round found. */
type Rates = ReadonlyMap<string, readonly Measurement[]>;

interface Measurement {
  readonly rate: number;
  readonly cpuMicroseconds: number | undefined;
}

/**
 * Each round measures every contender once, starting with another each time, so that whatever else
 * the machine does strikes them alike. A longer one before the first warms up and is not counted.
 */
async function measureRounds(
  { contenders }: OpenSuite,
  seconds: number,
  rounds: number,
  tell: (line: string) => void,
): Promise<Rates> {
  const rates = new Map<string, Measurement[]>(contenders.map(({ name }) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    const first = round % contenders.length;
    const order = [...contenders.slice(first), ...contenders.slice(0, first)];
    for (const contender of order) {
      const measured = await measureOnce(contender, round === 0 ? seconds * WARM_UP : seconds);
      if (round > 0) rates.get(contender.name)?.push(measured);
      const when = round === 0 ? "warm-up" : `round ${round} of ${rounds}`;
      tell(`${when}: ${contender.name} ${Math.round(measured.rate).toLocaleString("en")}`);
    }
  }
  return rates;
}

async function measureOnce(contender: Contender, seconds: number): Promise<Measurement> {
  const start = performance.now();
  const before = processorSeconds(contender.processId);
  const rate = await contender.measure(seconds);
  const after = processorSeconds(contender.processId);
  const operations = (rate * (performance.now() - start)) / 1000;
  const isKnown = before !== undefined && after !== undefined;
  return { rate, cpuMicroseconds: isKnown ? ((after - before) * 1e6) / operations : undefined };
}

/** Ticks of the clock that Linux counts processor time by, in a second. */
const TICKS = 100;

/** What a process has used so far (proc(5), fields 14 and 15); undefined where nobody tells. */
function processorSeconds(processId: number | undefined): number | undefined {
  if (processId === undefined) return undefined;
  try {
    const stat = readFileSync(`/proc/${processId}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) / TICKS;
  } catch {
    return undefined;
  }
}

function summarise(contender: Contender, open: OpenSuite, rates: Rates): ContenderResult {
  const measured = rates.get(contender.name) ?? [];
  const own = measured.map(({ rate }) => rate);
  const cpu = measured.flatMap(({ cpuMicroseconds }) => cpuMicroseconds ?? []);
  return {
    name: contender.name,
    median: median(own),
    min: Math.min(...own),
    max: Math.max(...own),
    ratio: ratioOf(contender.name, open.contenders[0].name, rates),
    cpuMicroseconds: cpu.length === 0 ? undefined : median(cpu),
  };
}

function judge(goal: Goal, rates: Rates): GoalResult {
  const ratio = ratioOf(goal.contender, goal.against, rates);
  return { ...goal, ratio, reached: ratio >= goal.atLeast };
}

function ratioOf(contender: string, against: string, rates: Rates): number {
  const others = rates.get(against) ?? [];
  return median(
    (rates.get(contender) ?? []).map(({ rate }, round) => rate / (others[round]?.rate ?? 0)),
  );
}

/** The middle value, or the mean of the two in the middle. */
function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}
