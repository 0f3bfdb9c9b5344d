import { remember } from "./remember.ts";

/** Those of some known texts that a text starts with, the longest first. */
export type Starts = (text: string) => readonly string[];

/** Looks for starts by the lengths that there are; once for each text, since crawlers share most. */
export function createStarts(known: ReadonlySet<string>): Starts {
  const lengths = [...new Set(Array.from(known, (text) => text.length))].sort((a, b) => b - a);
  return remember((text: string) =>
    lengths
      .filter((length) => length <= text.length)
      .map((length) => text.slice(0, length))
      .filter((start) => known.has(start)),
  );
}
