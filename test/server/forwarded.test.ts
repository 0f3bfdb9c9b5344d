import { expect, test } from "vitest";
import { readForwarded } from "../../src/server/forwarded.ts";

const COMPLETE = {
  "X-Forwarded-Method": "GET",
  "X-Forwarded-Uri": "/a?x=1",
  "X-Forwarded-Host": "docs.example.com",
  "X-Forwarded-Proto": "https",
  "X-Forwarded-For": "198.51.100.10",
};

function flat(fields: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(fields).flat();
}

test("a complete set of fields is read, whatever the case of their names", () => {
  const lower = flat(COMPLETE).map((text, index) => (index % 2 === 0 ? text.toLowerCase() : text));
  const expected = { method: "GET", uri: "/a?x=1", scheme: "https", userAgent: "" };
  for (const raw of [flat(COMPLETE), lower]) {
    expect(readForwarded(raw, false)).toMatchObject({ kind: "forwarded", forwarded: expected });
  }
});

test.each(Object.keys(COMPLETE))("a request without %s is a fault of the set-up", (name) => {
  const rest = Object.fromEntries(Object.entries(COMPLETE).filter(([key]) => key !== name));
  expect(readForwarded(flat(rest), false)).toEqual({
    kind: "misconfigured",
    cause: `${name} is missing`,
  });
});

test.each(Object.keys(COMPLETE))("an empty %s is a fault of the set-up", (name) => {
  const result = readForwarded(flat({ ...COMPLETE, [name]: "" }), false);
  expect(result).toEqual({ kind: "misconfigured", cause: `${name} is empty` });
});

test.each(Object.keys(COMPLETE))("a doubled %s is a fault of the set-up", (name) => {
  const raw = [...flat(COMPLETE), name.toLowerCase(), "/other"];
  expect(readForwarded(raw, false)).toMatchObject({ kind: "misconfigured" });
});

test("a placeholder that the proxy does not know is no address", () => {
  const raw = flat({ ...COMPLETE, "X-Forwarded-For": "{client_ip}" });
  expect(readForwarded(raw, false)).toMatchObject({ kind: "misconfigured" });
});

test("braces inside a target are the visitor's own", () => {
  const raw = flat({ ...COMPLETE, "X-Forwarded-Uri": "/a?{env.HOME}" });
  expect(readForwarded(raw, false)).toMatchObject({ kind: "forwarded" });
});

test.each(["ftp", "HTTPS", "https, http"])("%s is no scheme", (scheme) => {
  const raw = flat({ ...COMPLETE, "X-Forwarded-Proto": scheme });
  expect(readForwarded(raw, false)).toMatchObject({ kind: "misconfigured" });
});

test("fields of another family change nothing", () => {
  const others = [
    ["X-Original-URL", "/other"],
    ["X-Original-URI", "/other"],
    ["X-Rewrite-URL", "/other"],
    ["X-Real-IP", "203.0.113.1"],
    ["Forwarded", "for=203.0.113.1"],
    ["X-Forwarded-Prefix", "/p"],
    ["X-Crawlwall-Decision", "allow"],
    ["CF-Connecting-IP", "203.0.113.1"],
  ].flat();
  expect(readForwarded([...flat(COMPLETE), ...others], false)).toEqual(
    readForwarded(flat(COMPLETE), false),
  );
});

test("of two User-Agents the first one counts", () => {
  const raw = [...flat(COMPLETE), "User-Agent", "first", "user-agent", "second"];
  expect(readForwarded(raw, false)).toMatchObject({ forwarded: { userAgent: "first" } });
});

test.each([
  ["8f14e45f-ceea-467f-a0e6-7e2f7d0b2c11", true],
  ["short", false],
  ["x".repeat(65), false],
  ["with space in it", false],
])("a request id of %s is kept: %s", (id, isKept) => {
  const result = readForwarded(flat({ ...COMPLETE, "X-Request-Id": id }), true);
  expect(result).toMatchObject({ forwarded: { requestId: isKept ? id : undefined } });
});

test("a request id counts for nothing where the proxy does not overwrite it", () => {
  const raw = flat({ ...COMPLETE, "X-Request-Id": "8f14e45f-ceea-467f" });
  expect(readForwarded(raw, false)).toMatchObject({ forwarded: { requestId: undefined } });
});

test.each([
  [["1"], true],
  [["0"], false],
  [["0", "1"], true],
  [["0", "0"], true],
])("Early-Data of %j is early: %s (RFC 8470, 5.1)", (values, isEarlyData) => {
  const raw = [...flat(COMPLETE), ...values.flatMap((value) => ["Early-Data", value])];
  expect(readForwarded(raw, false)).toMatchObject({ forwarded: { isEarlyData } });
});
