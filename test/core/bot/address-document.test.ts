import fc from "fast-check";
import { expect, test } from "vitest";
import {
  ADDRESS_FORMATS,
  type AddressFormat,
  parseAddressDocument,
} from "../../../src/core/bot/address-document.ts";

function read(text: string, format: AddressFormat = "prefixes", pointer?: string): unknown {
  const document = parseAddressDocument(text, format, pointer);
  return document.kind === "document" ? document.entries : document.reason;
}

test("only the named places of the usual shape are read", () => {
  const text = JSON.stringify({
    prefixes: [{ ipv4Prefix: "20.0.0.0/24" }],
    removed: ["203.0.113.0/24"],
    contact: { resolver: "198.51.100.53" },
  });
  expect(read(text)).toEqual(["20.0.0.0/24"]);
});

test.each([
  ["no key that is known", { prefix: "20.0.0.0/24" }],
  ["two keys", { ipv4Prefix: "20.0.0.0/24", ipv6Prefix: "2001:db8::/32" }],
  ["a number", { ipv4Prefix: 20 }],
  ["a list", { ipv4Prefix: ["20.0.0.0/24"] }],
  ["a text", "20.0.0.0/24"],
  ["nothing", null],
])("a member with %s is left out and counted", (_what, member) => {
  const text = JSON.stringify({ prefixes: [{ ipv4Prefix: "30.0.0.0/24" }, member] });
  expect(parseAddressDocument(text, "prefixes", undefined)).toEqual({
    kind: "document",
    entries: ["30.0.0.0/24"],
    ignored: 1,
  });
});

test("a member that inherits its key from nowhere is read by its own keys alone", () => {
  const text = '{"prefixes":[{"__proto__":{"ipv4Prefix":"20.0.0.0/24"}}]}';
  expect(read(text)).toBe("holds no entry");
});

test.each([
  ["an HTML page", " \n<!DOCTYPE html><p>20.0.0.0/24", "is an HTML or XML page"],
  ["an empty body", "", "is not JSON"],
  ["torn JSON", '{"prefixes":[{"ipv4Pre', "is not JSON"],
  ["deep nesting", "[".repeat(100_000), "is not JSON"],
  ["an empty list", '{"prefixes":[]}', "holds no entry"],
  ["a text", '"20.0.0.0/24"', "has no list `prefixes`; a source of another shape needs `format`"],
  ["nothing", "null", "has no list `prefixes`; a source of another shape needs `format`"],
  [
    "a later version of the format",
    '{"formatVersion":"2.0","prefixes":[{"ipv4Prefix":"20.0.0.0/24"}]}',
    "has format version `2.0`; 1 is known",
  ],
  [
    "a flood of entries",
    JSON.stringify({
      prefixes: Array.from({ length: 200_001 }, () => ({ ipv4Prefix: "1.1.1.1" })),
    }),
    "has more than 200000 entries",
  ],
])("%s is no list", (_what, text, reason) => {
  expect(read(text)).toBe(reason);
});

test("HTML is told apart in every format", () => {
  for (const format of ADDRESS_FORMATS) {
    expect(read("<html>\n203.0.113.1\n", format)).toBe("is an HTML or XML page");
  }
});

test("a byte order mark, zero-width spaces and blanks around an address are cleaned away", () => {
  const text =
    '\u{feff}{"prefixes":[{"ipv4Prefix":"20.0.0.0/24\u{200b}"},{"ipv6Prefix":" 2001:db8::/32 "}]}';
  expect(read(text)).toEqual(["20.0.0.0/24", "2001:db8::/32"]);
});

test("text has one entry a line; comments, blank lines and CRLF do not matter", () => {
  const text = "# ours\r\n203.0.113.1\r\n\r\n2001:db8::/32 # six\n198.51.100.0/24";
  expect(read(text, "text")).toEqual(["203.0.113.1", "2001:db8::/32", "198.51.100.0/24"]);
});

test("a geofeed's first column is read (RFC 8805)", () => {
  const text = "# Meta\n31.13.24.0/21,US,US-CA,Menlo Park,\n2a03:2880::/32,IE,,Dublin,\n";
  expect(read(text, "geofeed")).toEqual(["31.13.24.0/21", "2a03:2880::/32"]);
});

test("of a help page only bullets that are an address and nothing else are read", () => {
  const text = "Ask 198.51.100.1.\n- 203.0.113.1\n-   `203.0.113.2`\n- not 203.0.113.3\n";
  expect(read(text, "markdown")).toEqual(["203.0.113.1", "203.0.113.2"]);
});

test.each([
  ["the document itself", '["20.0.0.1"]', undefined, ["20.0.0.1"]],
  ["a member", '{"a":["20.0.0.1"],"b":["30.0.0.1"]}', "/a", ["20.0.0.1"]],
  ["every member", '{"a":["20.0.0.1"],"b":["30.0.0.1"]}', "/*", ["20.0.0.1", "30.0.0.1"]],
  ["a field of every element", '{"x":[{"ip":"20.0.0.1"},{"ip":""},{}]}', "/x/*/ip", ["20.0.0.1"]],
  [
    "elements of one kind",
    '[{"k":"a","ip":"20.0.0.1"},{"k":"b","ip":"30.0.0.1"}]',
    "/[k=a]/ip",
    ["20.0.0.1"],
  ],
  ["an escaped name", '{"a/b~c":["20.0.0.1"]}', "/a~1b~0c", ["20.0.0.1"]],
  ["nowhere", '{"a":["20.0.0.1"]}', "/b", "has nothing at `/b`"],
  ["a prototype's member", "{}", "/constructor/name", "has nothing at `/constructor/name`"],
])("a pointer to %s", (_what, text, pointer, expected) => {
  expect(read(text, "list", pointer)).toEqual(expected);
});

test("whatever a document holds, reading it ends and never throws", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.json()),
      fc.constantFrom(...ADDRESS_FORMATS),
      fc.option(fc.constantFrom("", "/", "/*", "/*/*", "/prefixes", "/[a=b]/c"), {
        nil: undefined,
      }),
      (text, format, pointer) => {
        expect(parseAddressDocument(text, format, pointer).kind).toMatch(/^document|unreadable$/);
      },
    ),
  );
});
