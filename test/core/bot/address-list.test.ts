import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type AddressList,
  createAddressList,
  describeDropped,
  suddenChange,
} from "../../../src/core/bot/address-list.ts";
import { parseAddress } from "../../../src/core/cidr.ts";

/** `prefixes` of a good list, or why it is none. */
function judge(...entries: readonly string[]): unknown {
  const list = createAddressList(entries);
  return list.kind === "list" ? list.prefixes : list.reason;
}

test.each([
  "0.0.0.0/0",
  "::/0",
  "::ffff:0:0/96",
  "::ffff:0.0.0.0/97",
  "::ffff:0:0/95",
  "0.0.0.0/1",
  "11.0.0.0/8",
  "2000::/3",
  "2001::/16",
  "10.0.0.0/8",
  "127.0.0.1",
  "169.254.0.0/16",
  "192.168.1.1",
  "100.64.0.0/12",
  "224.0.0.0/12",
  "fe80::/64",
  "fc00::/32",
  "fd00::/48",
  "::1",
  "203.0.113.01",
  "0x7f.1",
  "example.com",
  "",
])("`%s` alone verifies nobody", (entry) => {
  expect(judge(entry)).toMatch(/^holds no usable prefix/);
});

test("what is too wide or not public is left out, and the credible rest stays", () => {
  const list = createAddressList(["0.0.0.0/0", "203.0.113.0/28", "10.0.0.0/24", "::/0"]);
  if (list.kind !== "list") throw new Error(list.reason);
  expect(list.prefixes).toEqual(["203.0.113.0/28"]);
  expect(describeDropped(list.dropped)).toBe(
    "1 entry: is wider than /12; 1 entry: is not public; 1 entry: is wider than /24",
  );
});

test("many blocks that together cover the Internet are refused, each narrow enough or not", () => {
  const slices = Array.from(
    { length: 4096 },
    (_, index) => `${index >> 4}.${(index & 15) << 4}.0.0/12`,
  );
  expect(judge(...slices)).toMatch(/^covers \d+ IPv4 addresses; 4194304 at most$/);
  const networks = Array.from(
    { length: 65 },
    (_, index) => `2a00:${(index + 1).toString(16)}::/32`,
  );
  expect(judge(...networks)).toMatch(/^covers \d+ IPv6 networks; 274877906944 at most$/);
});

test("mapped IPv4 blocks become IPv4, host bits are cleared, repeats are one", () => {
  expect(judge("::ffff:203.0.113.0/124", "203.0.113.7/28", "203.0.113.0/28")).toEqual([
    "203.0.113.0/28",
  ]);
});

test("no list that is accepted holds a loopback, private or unspecified address", () => {
  const address = fc.oneof(fc.ipV4(), fc.ipV6());
  const entry = fc.tuple(address, fc.nat(128)).map(([ip, length]) => `${ip}/${length}`);
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 20 }), (entries) => {
      const list = createAddressList(entries);
      if (list.kind !== "list") return;
      for (const ip of [
        "127.0.0.1",
        "10.0.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "::1",
        "fe80::1",
      ]) {
        const parsed = parseAddress(ip);
        expect(parsed && list.set.find(parsed)).toBeUndefined();
      }
    }),
  );
});

function listOf(...entries: readonly string[]): AddressList {
  const list = createAddressList(entries);
  if (list.kind === "list") return list;
  throw new Error(list.reason);
}

function hosts(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `203.0.113.${index}`);
}

test.each([
  ["half of the prefixes gone", hosts(20), hosts(10), undefined],
  ["most of the prefixes gone", hosts(20), hosts(9), "shrank from 20 to 9 prefixes"],
  ["a small list replaced", hosts(7), ["198.51.100.1"], undefined],
  ["hosts joined into their network", hosts(256), ["203.0.113.0/24"], undefined],
  ["the growth of ChatGPT-User in 2026", hosts(20), [...hosts(20), "20.0.0.0/17"], undefined],
  [
    "a cloud's network added",
    hosts(20),
    [...hosts(20), "20.0.0.0/14"],
    "grew over 16 times, from 20 to 21 prefixes",
  ],
  ["IPv6 added", hosts(20), [...hosts(20), "2a00::/32"], undefined],
  [
    "a provider's IPv6 added",
    hosts(20),
    [...hosts(20), "2a00::/28"],
    "grew over 16 times, from 20 to 21 prefixes",
  ],
])("%s: a sudden change or not", (_what, before, after, expected) => {
  expect(suddenChange(listOf(...before), listOf(...after))).toBe(expected);
});
