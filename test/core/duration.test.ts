import { expect, test } from "vitest";
import { parseDuration } from "../../src/core/duration.ts";

test.each([
  ["30s", 30_000],
  ["15m", 900_000],
  ["1h", 3_600_000],
  ["30d", 2_592_000_000],
  ["0s", 0],
  ["3650d", 315_360_000_000],
])("%s is %i milliseconds", (text, milliseconds) => {
  expect(parseDuration(text)).toBe(milliseconds);
});

test.each(["", "30", "s", "-1h", "1.5h", "1h30m", " 1h", "1H", "1w", "3651d", "1e3s", "９s"])(
  "`%s` is no duration",
  (text) => {
    expect(parseDuration(text)).toBeUndefined();
  },
);
