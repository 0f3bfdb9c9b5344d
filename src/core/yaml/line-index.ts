/** Line and column, both from 1, columns in UTF-16 code units. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Finds the line and column of each offset of a text; offsets beyond its ends count as the end. */
export function createLineIndex(text: string): (offset: number) => Position {
  const starts = [0];
  for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", end + 1)) {
    starts.push(end + 1);
  }
  return (offset) => {
    const inside = Math.min(Math.max(0, offset), text.length);
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if ((starts[middle] ?? 0) <= inside) low = middle;
      else high = middle;
    }
    return { line: low + 1, column: inside - (starts[low] ?? 0) + 1 };
  };
}
