import { describe, expect, test } from "vitest";
import { inCidr, pathUnder } from "../../../src/core/cel/functions.ts";

describe("pathUnder goes by whole segments", () => {
  test.each([
    ["/archive", "/archive", true],
    ["/archive/", "/archive", true],
    ["/archive/a", "/archive", true],
    ["/archives", "/archive", false],
    ["/archive.html", "/archive", false],
    ["/", "/archive", false],
    ["/archive", "/archive/", true],
    ["/archive/a", "/archive/", true],
    ["/archives", "/archive/", false],
    ["/anything", "/", true],
    ["/", "/", true],
    ["/a/b/c", "/a/b", true],
    ["/a/bc", "/a/b", false],
    ["/Archive", "/archive", false],
  ])("%s under %s: %s", (path, prefix, expected) => {
    expect(pathUnder(path, prefix)).toBe(expected);
  });
});

describe("inCidr", () => {
  test.each([
    ["203.0.113.7", "203.0.113.0/24", true],
    ["203.0.114.7", "203.0.113.0/24", false],
    ["203.0.113.7", "203.0.113.7", true],
    ["::ffff:203.0.113.7", "203.0.113.0/24", true],
    ["2001:db8::1", "2001:db8::/32", true],
    ["2001:db9::1", "2001:db8::/32", false],
    ["203.0.113.7", "::/0", false],
    ["", "0.0.0.0/0", false],
    ["not an address", "0.0.0.0/0", false],
  ])("%s in %s: %s", (ip, cidr, expected) => {
    expect(inCidr(ip, cidr)).toBe(expected);
  });

  test("a block that is none is an error that names it", () => {
    expect(() => inCidr("203.0.113.7", "203.0.113.0/240")).toThrow(
      "`203.0.113.0/240` has a bad prefix length; IPv4 takes 0 to 32",
    );
  });
});
