import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AddressSet, createAddressSet, parseCidr } from "../../src/core/cidr.ts";
import { readClientAddress } from "../../src/core/client-address.ts";

function trusting(...texts: string[]): AddressSet {
  return createAddressSet(
    texts.map(parseCidr).flatMap((result) => (result.kind === "cidr" ? [result.cidr] : [])),
  );
}

const proxies = trusting("10.0.0.0/8", "2001:db8:ffff::/48");

describe("without trusted proxies", () => {
  test.each([
    ["1.2.3.4", "1.2.3.4", "1.2.3.4"],
    ["1.2.3.4:80", "1.2.3.4", "1.2.3.4"],
    [" \t1.2.3.4\t ", "1.2.3.4", "1.2.3.4"],
    ["2001:db8::1", "2001:db8::1", "2001:db8::/64"],
    ["2001:DB8:0:0:0:0:0:1", "2001:db8::1", "2001:db8::/64"],
    ["[2001:db8::1]", "2001:db8::1", "2001:db8::/64"],
    ["[2001:db8:1:2:3::1]:443", "2001:db8:1:2:3::1", "2001:db8:1:2::/64"],
    ["fe80::1%eth0", "fe80::1", "fe80::/64"],
    ["[fe80::1%25]:80", "fe80::1", "fe80::/64"],
    ["::ffff:1.2.3.4", "1.2.3.4", "1.2.3.4"],
    ["[::ffff:102:304]:80", "1.2.3.4", "1.2.3.4"],
  ])("%s is the client %s, counted as %s", (header, ip, limitKey) => {
    expect(readClientAddress(header, undefined)).toMatchObject({
      kind: "address",
      address: { ip, limitKey },
    });
  });

  test.each([
    "",
    " ",
    "unknown",
    "_hidden",
    '"1.2.3.4"',
    "01.2.3.4",
    "0x7f.1",
    "1.2.3",
    "<script>",
    "{client_ip}",
    "@",
    "1.2.3.4, 5.6.7.8",
    "1.2.3.4,",
    ",1.2.3.4",
    ",,",
    "1.2.3.4:",
    "1.2.3.4:123456",
    "1.2.3.4:8o",
    "1.2.3.4%eth0",
    "[1.2.3.4]",
    "[1.2.3.4]:80",
    "[::1",
    "[::1]80",
    "[::1]:",
    "::1]",
    "[]",
    "fe80::1%",
    "fe80::1%<script>",
    `fe80::1%${"e".repeat(33)}`,
    "1.2.3.4\u00a0",
    "for=1.2.3.4",
  ])("`%s` is malformed", (header) => {
    expect(readClientAddress(header, undefined)).toEqual({ kind: "malformed" });
  });

  test.each([
    ["198.51.100.7", true],
    ["2001:db8::1", true],
    ["127.0.0.1", false],
    ["10.0.0.1", false],
    ["100.64.0.1", false],
    ["0.0.0.0", false],
    ["::1", false],
    ["fe80::1%eth0", false],
    ["::ffff:192.168.0.1", false],
  ])("%s can be a client on the Internet: %s", (header, isPublic) => {
    expect(readClientAddress(header, undefined)).toMatchObject({ address: { isPublic } });
  });
});

describe("behind trusted proxies", () => {
  test.each([
    [
      "the right-most that is no proxy is the client",
      "6.6.6.6, 1.2.3.4, 10.0.0.2, 10.0.0.1",
      "1.2.3.4",
    ],
    ["a client's own text to the left does not count", "<script>, 1.2.3.4", "1.2.3.4"],
    ["blanks around commas do not count", "1.2.3.4\t ,\t10.0.0.1", "1.2.3.4"],
    ["a mapped proxy is the proxy", "1.2.3.4, ::ffff:10.0.0.1", "1.2.3.4"],
    [
      "brackets and ports are read",
      "[2001:db8::9]:4711, 10.0.0.1:80, [2001:db8:ffff::1]:443",
      "2001:db8::9",
    ],
    [
      "all of them proxies: the left-most is the client",
      "10.0.0.3, 10.0.0.2, 10.0.0.1",
      "10.0.0.3",
    ],
    ["one address is the client", "1.2.3.4", "1.2.3.4"],
  ])("%s", (_, header, ip) => {
    expect(readClientAddress(header, proxies)).toMatchObject({ kind: "address", address: { ip } });
  });

  test.each([
    ["a hop that is no address", "1.2.3.4, unknown, 10.0.0.2, 10.0.0.1", "10.0.0.2"],
    ["an empty hop", "1.2.3.4, , 10.0.0.1", "10.0.0.1"],
    ["an empty left end", ",10.0.0.1", "10.0.0.1"],
    ["an IPv6 proxy before a bad hop", "x, [2001:db8:ffff:1::1]", "2001:db8:ffff:1::/64"],
    ["a bad hop at once", "1.2.3.4, bad", ""],
    ["nothing", "", ""],
    ["only commas", ",,", ""],
  ])("%s ends the walk: no address, counted by the last good hop", (_, header, limitKey) => {
    expect(readClientAddress(header, proxies)).toEqual({
      kind: "address",
      address: { ip: "", limitKey, isPublic: false },
    });
  });

  test("32 hops are walked, a 33rd ends the walk", () => {
    const hops = Array.from({ length: 32 }, (_, n) => `10.0.0.${n}`);
    expect(readClientAddress(hops.join(","), proxies)).toMatchObject({
      address: { ip: "10.0.0.0" },
    });
    expect(readClientAddress(["1.2.3.4", ...hops].join(","), proxies)).toEqual({
      kind: "address",
      address: { ip: "", limitKey: "10.0.0.0", isPublic: false },
    });
    expect(readClientAddress(["1.2.3.4", ...hops.slice(1)].join(","), proxies)).toMatchObject({
      address: { ip: "1.2.3.4" },
    });
  });

  test("a chain of 60,000 characters takes no time", () => {
    for (const header of ["10.0.0.1,".repeat(6000), ",".repeat(60_000), " ".repeat(60_000)]) {
      const start = performance.now();
      readClientAddress(header, proxies);
      expect(performance.now() - start).toBeLessThan(50);
    }
  });
});

test("any header at all gives an address or is malformed, and never throws", () => {
  const piece = fc.constantFrom(
    "1.2.3.4",
    "10.0.0.1",
    "::1",
    "[",
    "]",
    ":",
    "80",
    ",",
    " ",
    "%",
    "x",
  );
  const header = fc.oneof(
    fc.string(),
    fc.array(piece).map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(header, (text) => {
      const single = readClientAddress(text, undefined);
      const chain = readClientAddress(text, proxies);
      expect(chain.kind).toBe("address");
      // What is one address without a chain is that address in a chain of one.
      if (single.kind === "address") expect(chain).toEqual(single);
    }),
    { numRuns: 3000 },
  );
});
