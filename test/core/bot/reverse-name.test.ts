import { expect, test } from "vitest";
import {
  canonicalName,
  hasAllowedSuffix,
  reverseName,
} from "../../../src/core/bot/reverse-name.ts";

test.each([
  ["203.0.113.7", "7.113.0.203.in-addr.arpa"],
  ["::ffff:203.0.113.7", "7.113.0.203.in-addr.arpa"],
  ["2001:db8::1", `1${".0".repeat(23)}.8.b.d.0.1.0.0.2.ip6.arpa`],
  ["::", `0${".0".repeat(31)}.ip6.arpa`],
  ["1:2:3:4:5:6:7:8", "8.0.0.0.7.0.0.0.6.0.0.0.5.0.0.0.4.0.0.0.3.0.0.0.2.0.0.0.1.0.0.0.ip6.arpa"],
  ["not an address", undefined],
])("the PTR of %s is asked at %s", (ip, name) => {
  expect(reverseName(ip)).toBe(name);
});

test.each([
  ["Crawl.Example.COM.", "crawl.example.com"],
  ["crawl.example.com", "crawl.example.com"],
  ["crawl.example.com..", undefined],
  ["crawl..example.com", undefined],
  ["evil\\.example.com", undefined],
  ["a b.example.com", undefined],
  ["", undefined],
  [`${"a".repeat(250)}.com`, undefined],
])("`%s` is compared as %s", (text, name) => {
  expect(canonicalName(text)).toBe(name);
});

test.each([
  ["crawl.googlebot.com", true],
  ["googlebot.com", true],
  ["evilgooglebot.com", false],
  ["googlebot.com.evil.net", false],
])("%s below .googlebot.com: %s", (name, expected) => {
  expect(hasAllowedSuffix(name, [".googlebot.com"])).toBe(expected);
});
