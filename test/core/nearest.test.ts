import { describe, expect, test } from "vitest";
import { nearest } from "../../src/core/nearest.ts";

const WORDS = ["id", "priority", "when", "action", "audit", "mode"];

describe("the word that was probably meant", () => {
  test.each([
    ["prioirty", "priority"],
    ["Priority", "priority"],
    ["actoin", "action"],
    ["wen", "when"],
    ["modes", "mode"],
  ])("%s: %s", (written, meant) => {
    expect(nearest(written, WORDS)).toBe(meant);
  });

  test.each(["zebra", "", "x".repeat(100_000)])("none is near", (written) => {
    expect(nearest(written, WORDS)).toBeUndefined();
  });
});
