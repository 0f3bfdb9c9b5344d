import { describe, expect, test } from "vitest";
import { createSiteLookup, parseSiteHost } from "../../../src/core/policy/hosts.ts";
import type { Site } from "../../../src/core/policy/policy.ts";

describe("a host as a policy writes it", () => {
  test.each([
    ["docs.example.com", "docs.example.com"],
    ["DOCS.Example.COM:8443", "docs.example.com"],
    ["docs.example.com.", "docs.example.com"],
    ["*.Example.com", "*.example.com"],
    ["*", "*"],
    ["localhost", "localhost"],
    ["127.0.0.1", "127.0.0.1"],
    ["[::1]:80", "[::1]"],
    ["xn--bcher-kva.example", "xn--bcher-kva.example"],
    ["a_b.example.com", "a_b.example.com"],
  ])("%s is kept as %s", (written, host) => {
    expect(parseSiteHost(written)).toEqual({ kind: "host", host });
  });

  test.each([
    "",
    ".",
    "..",
    "a..b",
    "-a.example",
    "a b",
    "https://a.example",
    "a.example/path",
    "*.*.example.com",
    "www.*.com",
    "*a.example.com",
    "bücher.example",
    "[::1",
    "::1",
    "[not-an-address]",
    `${"a".repeat(64)}.example`,
    `${"a.".repeat(130)}example`,
  ])("`%s` is none", (written) => {
    expect(parseSiteHost(written).kind).toBe("bad");
  });
});

describe("the site of a host", () => {
  const site = (id: string, ...hosts: Site["hosts"]): { readonly site: Site } => ({
    site: { id, hosts, mode: "shadow", rateLimitRequired: false, caseInsensitivePaths: false },
  });
  const find = createSiteLookup([
    site("any", "*"),
    site("wild", "*.example.com", "*.localhost"),
    site("exact", "www.example.com", "example.com"),
  ]);

  test.each([
    ["www.example.com", "exact"],
    ["example.com", "exact"],
    ["docs.example.com", "wild"],
    ["a.localhost", "wild"],
    ["a.b.example.com", "any"],
    [".example.com", "any"],
    ["*", "any"],
    ["constructor", "any"],
    ["", "any"],
  ])("%s is answered by %s", (host, id) => {
    expect(find(host)?.site.id).toBe(id);
  });

  test("without `*` other hosts have none", () => {
    expect(createSiteLookup([site("exact", "a.example")])("b.example")).toBeUndefined();
  });
});
