import { describe, expect, test } from "vitest";
import { compilePattern, findPatternFault } from "../../../src/core/cel/patterns.ts";

describe("a pattern that rules are likely to hold is accepted", () => {
  test.each([
    "^/api/v[0-9]+/users/(me|[0-9]+)$",
    "(?i)(foo|bar|baz|qux).*(one|two|three)",
    "\\b(wp-admin|xmlrpc\\.php|\\.env)\\b",
    "\\.(jpg|jpeg|png|gif|css|js|ico|svg|woff2?)$",
    "^/(\\d{4})/(\\d{2})/(\\d{2})/[^/]+/?$",
    "[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}",
    "^\\p{L}+(-\\p{L}+){0,5}$",
    "^.{100,}$",
    Array.from({ length: 60 }, (_, index) => `word${index * 7919}`).join("|"),
    "",
  ])("%s", (pattern) => {
    expect(findPatternFault(pattern)).toBeUndefined();
  });
});

describe("a pattern that a client could make slow is refused", () => {
  test.each(["a.{30}b$", "(a|b)*a(a|b){20}", "(?i)x[a-z]{40}q", "\\ba.{25}b\\b"])(
    "%s",
    (pattern) => {
      expect(findPatternFault(pattern)).toMatch(/^needs more than 1000 states/);
    },
  );
});

test("a pattern that has read texts in many scripts still answers right", () => {
  const pattern = compilePattern("^/[^x]*x$");
  const texts = Array.from({ length: 400 }, (_, index) => {
    const first = 0x4e00 + index * 40;
    const codes = Array.from(
      { length: 2000 },
      (_unused, offset) => first + ((offset * 7) % 16_000),
    );
    return `/${String.fromCodePoint(...codes.filter((code) => code < 0xd800))}x`;
  });
  for (const text of texts) expect(pattern.test(text)).toBe(true);
  expect(pattern.test("/plain")).toBe(false);
});
