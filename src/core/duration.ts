const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Ten years: more than any setting means, less than any overflow. */
const LONGEST_MS = 3650 * 86_400_000;

/**
 * Milliseconds of a duration as people write it: a whole number and one of `s`, `m`, `h`, `d`
 * (`30s`, `15m`, `1h`, `30d`), at most ten years; undefined for anything else. Zero is a duration.
 */
export function parseDuration(text: string): number | undefined {
  const parts = /^(\d{1,9})([smhd])$/.exec(text);
  if (parts === null) return undefined;
  const milliseconds = Number(parts[1]) * (UNIT_MS[parts[2] ?? ""] ?? Number.NaN);
  return milliseconds <= LONGEST_MS ? milliseconds : undefined;
}

/** A duration as people write it, in the largest unit that says it whole: `24h` is `1d`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds === 0) return "0s";
  for (const unit of ["d", "h", "m"]) {
    const size = UNIT_MS[unit] ?? Number.NaN;
    if (milliseconds % size === 0) return `${milliseconds / size}${unit}`;
  }
  return `${milliseconds / 1000}s`;
}
