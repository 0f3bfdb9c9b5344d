import { expect, test } from "vitest";
import { createHeaderFields, decodeFieldValue } from "../../src/server/header-fields.ts";

test("names are lower-case, repeats are joined, cookies by a semicolon", () => {
  const fields = createHeaderFields([
    "Accept",
    "text/html",
    "ACCEPT",
    "text/plain",
    "Cookie",
    "a=1",
    "cookie",
    "b=2",
  ]);
  expect(fields.get("accept")).toBe("text/html, text/plain");
  expect(fields.get("cookie")).toBe("a=1; b=2");
});

test.each([
  "Connection",
  "X-Forwarded-Uri",
  "X-Forwarded-Anything",
  "X-CrawlWall-Key",
  "X-Request-Id",
])("%s is not a rule's input", (name) => {
  expect(createHeaderFields([name, "value"]).get(name.toLowerCase())).toBeUndefined();
});

test("a field may be named like something of JavaScript's", () => {
  const fields = createHeaderFields(["__proto__", "a", "constructor", "b"]);
  expect(fields.get("__proto__")).toBe("a");
  expect(fields.get("constructor")).toBe("b");
  expect(createHeaderFields([]).get("tostring")).toBeUndefined();
});

test("bytes that are UTF-8 are read as such, others stay one character a byte", () => {
  const asNode = (text: string): string => Buffer.from(text, "utf8").toString("latin1");
  expect(decodeFieldValue(asNode("Crawler é 中"))).toBe("Crawler é 中");
  expect(decodeFieldValue("bot\u00e9")).toBe("bot\u00e9");
  expect(decodeFieldValue("\u00c0\u00af")).toBe("\u00c0\u00af");
});
