import { isIPv4, isIPv6 } from "node:net";
import fc from "fast-check";
import ipaddr from "ipaddr.js";
import { describe, expect, test } from "vitest";
import {
  type AddressSet,
  createAddressSet,
  isPublicAddress,
  parseAddress,
  parseCidr,
} from "../../src/core/cidr.ts";

function setOf(...texts: string[]): AddressSet {
  return createAddressSet(
    texts.map((text) => {
      const result = parseCidr(text);
      if (result.kind === "bad") throw new Error(`${text} ${result.reason}`);
      return result.cidr;
    }),
  );
}

function find(set: AddressSet, text: string): string | undefined {
  const address = parseAddress(text);
  if (address === undefined) throw new Error(text);
  return set.find(address);
}

const ipv4 = fc.ipV4();
const ipv6 = fc.ipV6();
// The other implementation takes `::1.2.3.4` for IPv4, which RFC 4291 deprecates.
const undotted = ipv6.filter((text) => !text.includes("."));

describe("an address", () => {
  test.each([
    ["203.0.113.7", "203.0.113.7"],
    ["0.0.0.0", "0.0.0.0"],
    ["255.255.255.255", "255.255.255.255"],
    ["2001:DB8::A", "2001:db8::a"],
    ["2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1"],
    ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
    ["2001:0:0:1:0:0:0:1", "2001:0:0:1::1"],
    ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
    ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"],
    ["::", "::"],
    ["::1", "::1"],
    ["1::", "1::"],
    ["::ffff:1.2.3.4", "1.2.3.4"],
    ["::FFFF:102:304", "1.2.3.4"],
    ["::1.2.3.4", "::102:304"],
    ["64:ff9b::1.2.3.4", "64:ff9b::102:304"],
  ])("%s is written %s", (text, canonical) => {
    expect(parseAddress(text)?.text).toBe(canonical);
  });

  test.each([
    "",
    "unknown",
    "1.2.3",
    "1.2.3.4.5",
    "01.2.3.4",
    "1.2.3.04",
    "0x7f.0.0.1",
    "0x7f.1",
    "256.1.1.1",
    "1.2.3.999",
    "1..2.3",
    ".1.2.3",
    "1.2.3.",
    " 1.2.3.4",
    "1.2.3.4 ",
    "+1.2.3.4",
    "2130706433",
    "1.2.3.4:80",
    "[::1]",
    "fe80::1%eth0",
    ":::",
    "1:::2",
    "1::2::3",
    ":1",
    "1:",
    ":1::",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7:8::",
    "12345::",
    "g::",
    "::01.2.3.4",
    "::1.2.3",
    "1.2.3.4::",
    "1:2:3:4:5:6:7:1.2.3.4",
    "\u0661.2.3.4",
    "1".repeat(100_000),
  ])("%s is refused", (text) => {
    expect(parseAddress(text)).toBeUndefined();
  });

  test("is taken exactly when Node's own check takes it, and no zone is in it", () => {
    const piece = fc.constantFrom(
      "0",
      "1",
      "01",
      "255",
      "256",
      "ffff",
      "10000",
      ".",
      ":",
      "::",
      "%",
    );
    const texts = fc.oneof(
      ipv4,
      ipv6,
      fc.array(piece, { maxLength: 12 }).map((parts) => parts.join("")),
      fc.tuple(ipv6, fc.nat(20), piece).map(([text, at, part]) => text.slice(0, at) + part),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const isAddress = (isIPv4(text) || isIPv6(text)) && !text.includes("%");
        expect(parseAddress(text) !== undefined).toBe(isAddress);
      }),
      { numRuns: 3000 },
    );
  });

  test("has the bits that another implementation reads, and its text reads back as itself", () => {
    fc.assert(
      fc.property(fc.oneof(ipv4, undotted), (text) => {
        const address = parseAddress(text);
        const bytes = ipaddr.process(text).toByteArray();
        const words = address?.words.flatMap((word) =>
          [24, 16, 8, 0].map((s) => (word >>> s) & 255),
        );
        expect(words).toEqual(bytes);
        expect(parseAddress(address?.text ?? "")).toEqual(address);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("a block of addresses", () => {
  test.each([
    ["203.0.113.0/24", "203.0.113.0/24", false],
    ["203.0.113.7", "203.0.113.7/32", false],
    ["203.0.113.7/24", "203.0.113.0/24", true],
    ["0.0.0.0/0", "0.0.0.0/0", false],
    ["128.0.0.0/1", "128.0.0.0/1", false],
    ["2001:DB8::/32", "2001:db8::/32", false],
    ["2001:db8::1/32", "2001:db8::/32", true],
    ["2001:db8:ffff::/33", "2001:db8:8000::/33", true],
    ["2001:db8::1", "2001:db8::1/128", false],
    ["::/0", "::/0", false],
    ["::ffff:1.2.3.0/120", "1.2.3.0/24", false],
    ["::ffff:0:0/96", "0.0.0.0/0", false],
    ["::ffff:0.0.0.0/97", "0.0.0.0/1", false],
    ["::ffff:1.2.3.4", "1.2.3.4/32", false],
  ])("%s is read as %s", (text, canonical, hasHostBits) => {
    expect(parseCidr(text)).toMatchObject({ kind: "cidr", cidr: { text: canonical, hasHostBits } });
  });

  test.each([
    ["203.0.113.0/33", "prefix length"],
    ["203.0.113.0/-1", "prefix length"],
    ["203.0.113.0/", "prefix length"],
    ["203.0.113.0/024", "prefix length"],
    ["203.0.113.0/+24", "prefix length"],
    ["203.0.113.0/2e1", "prefix length"],
    ["203.0.113.0/24 ", "prefix length"],
    ["203.0.113.0/24/24", "prefix length"],
    ["203.0.113.0/255.255.255.0", "prefix length"],
    ["2001:db8::/129", "prefix length"],
    ["::ffff:0:0/95", "IPv4-mapped"],
    ["::ffff:1.2.3.4/32", "IPv4-mapped"],
    ["fe80::%eth0/64", "is not an address"],
    ["203.0.113/24", "is not an address"],
    ["example.com", "is not an address"],
    ["", "is not an address"],
  ])("%s is refused: %s", (text, reason) => {
    const result = parseCidr(text);
    expect(result).toMatchObject({ kind: "bad", reason: expect.stringContaining(reason) });
  });
});

describe("whether a client on the Internet can have an address", () => {
  test.each([
    "8.8.8.8",
    "1.1.1.1",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.0.1",
    "172.32.0.0",
    "192.0.1.1",
    "192.0.2.1",
    "198.51.100.7",
    "203.0.113.9",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700::1",
    "2001:4860:4860::8888",
    "2001:db8::1",
    "3fff::1",
  ])("%s: yes", (text) => {
    const address = parseAddress(text);
    expect(address !== undefined && isPublicAddress(address)).toBe(true);
  });

  test.each([
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:10.0.0.1",
    "fe80::1",
    "fc00::1",
    "fd12::1",
    "ff02::1",
    "2001::1",
    "2002:7f00:1::",
    "64:ff9b::7f00:1",
    "100::1",
    "4000::1",
  ])("%s: no", (text) => {
    const address = parseAddress(text);
    expect(address !== undefined && isPublicAddress(address)).toBe(false);
  });
});

describe("a set of blocks", () => {
  test("finds the block that holds an address, at both of its ends", () => {
    const set = setOf("203.0.113.0/24", "198.51.100.7", "2001:db8::/33");
    expect(find(set, "203.0.113.0")).toBe("203.0.113.0/24");
    expect(find(set, "203.0.113.255")).toBe("203.0.113.0/24");
    expect(find(set, "203.0.114.0")).toBeUndefined();
    expect(find(set, "203.0.112.255")).toBeUndefined();
    expect(find(set, "198.51.100.7")).toBe("198.51.100.7/32");
    expect(find(set, "2001:db8:7fff::1")).toBe("2001:db8::/33");
    expect(find(set, "2001:db8:8000::")).toBeUndefined();
  });

  test("an IPv6 block of any width holds no IPv4 address, mapped or not", () => {
    const set = setOf("::/0");
    expect(find(set, "::1")).toBe("::/0");
    expect(find(set, "1.2.3.4")).toBeUndefined();
    expect(find(set, "::ffff:1.2.3.4")).toBeUndefined();
  });

  test("an empty set holds nothing", () => {
    expect(find(setOf(), "1.2.3.4")).toBeUndefined();
    expect(find(setOf(), "::")).toBeUndefined();
  });

  test("counts what it covers once, whatever is nested or repeated", () => {
    const set = setOf(
      "10.0.0.0/8",
      "10.1.0.0/16",
      "10.0.0.0/8",
      "11.0.0.0/24",
      "2001:db8::/60",
      "2001:db8::1",
    );
    expect(set).toMatchObject({ size: 3, ipv4Addresses: 2 ** 24 + 256, ipv6Networks: 16 });
  });

  test("answers as a look at each block in turn would", () => {
    const block = fc.oneof(
      fc.tuple(
        fc.constantFrom("10.0.0.0", "10.1.2.3", "10.1.2.128", "10.200.0.1"),
        fc.integer({ min: 6, max: 32 }),
      ),
      fc.tuple(
        fc.constantFrom("2001:db8::", "2001:db8::1:0", "2001:db8:0:ff::"),
        fc.integer({ min: 20, max: 128 }),
      ),
    );
    const address = fc.constantFrom(
      "10.0.0.0",
      "10.0.0.1",
      "10.1.2.3",
      "10.1.3.0",
      "11.0.0.0",
      "2001:db8::",
      "2001:db8::1:1",
      "2001:db8:0:fe::",
    );
    fc.assert(
      fc.property(fc.array(block, { maxLength: 12 }), address, (blocks, text) => {
        const set = setOf(...blocks.map(([first, length]) => `${first}/${length}`));
        const holders = blocks
          .filter(([first]) => first.includes(":") === text.includes(":"))
          .filter(([first, length]) => ipaddr.parse(text).match(ipaddr.parse(first), length))
          .map(([, length]) => length);
        const widest = holders.length === 0 ? undefined : Math.min(...holders);
        const found = find(set, text);
        expect(found === undefined ? undefined : Number(found.split("/")[1])).toBe(widest);
      }),
      { numRuns: 2000 },
    );
  });

  test("holds 100,000 blocks of both kinds, and looks one up without a walk through them", () => {
    const texts = Array.from({ length: 50_000 }, (_, n) => [
      `20.${n >> 8}.${n & 255}.0/25`,
      `2600:${(n >> 8).toString(16)}:${(n & 255).toString(16)}::/48`,
    ]).flat();
    const set = setOf(...texts);
    expect(set.size).toBe(100_000);
    const inside = parseAddress("20.100.7.9");
    const outside = parseAddress("2600:c2:50:1::");
    if (inside === undefined || outside === undefined) throw new Error("an address");
    const start = performance.now();
    for (let round = 0; round < 20_000; round++) {
      if (set.find(inside) !== "20.100.7.0/25" || set.find(outside) !== "2600:c2:50::/48") break;
    }
    const perLookupUs = ((performance.now() - start) * 1000) / 40_000;
    expect(find(set, "2600:c2:50:1::")).toBe("2600:c2:50::/48");
    expect(find(set, "20.100.7.200")).toBeUndefined();
    // A walk through 100,000 blocks takes hundreds of microseconds.
    expect(perLookupUs).toBeLessThan(20);
  });
});
