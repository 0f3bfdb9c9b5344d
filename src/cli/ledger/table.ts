/** A column of a table for people. */
export interface TableColumn<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string | number;
}

/** A table in plain text: numbers to the right, everything else to the left. */
export function formatTable<Row>(
  columns: readonly TableColumn<Row>[],
  rows: readonly Row[],
): readonly string[] {
  const cells = rows.map((row) => columns.map(({ cell }) => cell(row)));
  const texts = [columns.map(({ title }) => title), ...cells.map((line) => line.map(formatCell))];
  const widths = columns.map((_, column) =>
    Math.max(...texts.map((line) => line[column]?.length ?? 0)),
  );
  const isNumber = columns.map((_, column) => cells.every((line) => Number.isFinite(line[column])));
  return texts.map((line) =>
    line
      .map((text, column) => {
        const width = widths[column] ?? 0;
        return isNumber[column] ? text.padStart(width) : text.padEnd(width);
      })
      .join("  ")
      .trimEnd(),
  );
}

/** Numbers with their thousands apart. */
export function formatCount(count: number): string {
  return count.toLocaleString("en-US");
}

function formatCell(cell: string | number): string {
  return typeof cell === "number" ? formatCount(cell) : cell;
}
