import type { SuiteResult } from "./rounds.ts";

/** A suite's results as people read them. */
export function table(result: SuiteResult): string {
  const rows = result.contenders.map((contender) => [
    contender.name,
    rate(contender.median),
    rate(contender.min),
    rate(contender.max),
    contender.ratio.toFixed(3),
    contender.cpuMicroseconds?.toFixed(1) ?? "",
  ]);
  const header = ["", `median ${result.unit}`, "min", "max", "ratio", "cpu µs"];
  const goals = result.goals.map(
    (goal) =>
      `${verdict(goal.reached)} ${goal.contender} / ${goal.against}: ${goal.ratio.toFixed(3)}, at least ${goal.atLeast}`,
  );
  const facts = result.facts.map((fact) => {
    const limit = fact.atMost === undefined ? "" : `, at most ${fact.atMost}`;
    const value = Number.isInteger(fact.value) ? String(fact.value) : fact.value.toFixed(1);
    return `${verdict(fact.reached)} ${fact.name}: ${value} ${fact.unit}${limit}`;
  });
  const title = `${result.suite}: ${result.title} (${result.rounds} rounds)`;
  return ["", title, "", ...aligned([header, ...rows]), "", ...goals, ...facts, ""].join("\n");
}

function verdict(reached: boolean): string {
  return reached ? "ok    " : "MISSED";
}

function rate(value: number): string {
  const digits = value >= 100 ? 0 : 2;
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

/** The first column to the left, the others to the right. */
function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return column === 0 ? cell.padEnd(width) : cell.padStart(width);
      })
      .join("  "),
  );
}
