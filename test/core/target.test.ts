import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toByteText } from "../../src/core/readings.ts";
import { parseTarget } from "../../src/core/target.ts";

function readings(uri: string, caseInsensitive = false): readonly string[] {
  const result = parseTarget(uri, caseInsensitive);
  if (result.kind === "malformed") throw new Error(`${uri} is malformed`);
  return result.target.readings;
}

describe("a path is read in every way an upstream may read it, the canonical one first", () => {
  test.each([
    ["/", ["/"]],
    ["/archive/page.html", ["/archive/page.html"]],
    ["/.well-known/security.txt", ["/.well-known/security.txt"]],
    ["/a...b/.../..c/.d", ["/a...b/.../..c/.d"]],
    // D1
    ["/a%2Fb", ["/a/b"]],
    ["/a%2fb", ["/a/b"]],
    // D2
    ["//x", ["/x", "//x"]],
    ["///", ["/", "///"]],
    ["/a//b", ["/a/b", "/a//b"]],
    // D3
    ["/a/../b", ["/b", "/a/../b"]],
    ["/a/./b", ["/a/b", "/a/./b"]],
    ["/a/..", ["/", "/a/.."]],
    ["/a/.", ["/a/", "/a/."]],
    ["/../../etc", ["/etc", "/../../etc"]],
    // D4
    ["/a/%2e%2e/b", ["/b", "/a/../b"]],
    ["/x/..%2f..%2fsecret/a.txt", ["/secret/a.txt", "/x/../../secret/a.txt"]],
    // D5
    ["/%61rchive", ["/archive"]],
    ["/%41RCHIVE", ["/ARCHIVE"]],
    ["/ARCHIVE", ["/ARCHIVE"]],
    // D6
    ["/a;v=1/b", ["/a;v=1/b", "/a/b"]],
    ["/.well-known/..;/secret", ["/.well-known/..;/secret", "/secret"]],
    ["/a%3Bb", ["/a;b", "/a"]],
    // D7
    ["/a\\b", ["/a\\b", "/a/b"]],
    ["/a%5Cb", ["/a\\b", "/a/b"]],
    ["/x/..%5c..%5csecret", ["/x/..\\..\\secret", "/secret"]],
    // D10
    ["/a%252Fb", ["/a%2Fb", "/a/b"]],
    ["/.well-known/%252e%252e/secret", ["/.well-known/%2e%2e/secret", "/secret"]],
    // D11
    ["/caf%C3%A9", ["/café"]],
    ["/caf\u00c3\u00a9", ["/café"]],
    ["/caf\u00c3%A9", ["/café"]],
    ["/caf%E9", ["/caf%E9"]],
    ["/caf%e9", ["/caf%E9"]],
    ["/caf\u00e9", ["/caf%E9"]],
    ["/a%C0%AFb", ["/a%C0%AFb"]],
    ["/%ED%A0%80%F4%90%80%80%E2%82", ["/%ED%A0%80%F4%90%80%80%E2%82"]],
    ["/%E2%82%AC%F0%9F%98%80", ["/€😀"]],
    // D20
    ["/a%7Bhttp.request.host%7D", ["/a{http.request.host}"]],
    ["/a{http.request.host}", ["/a{http.request.host}"]],
    // D21, D22, D23
    ["/secret?/public", ["/secret"]],
    ["/public-evil", ["/public-evil"]],
    ["/public/../admin", ["/admin", "/public/../admin"]],
    // Where Caddy's file_server, Go and nginx read otherwise than RFC 3986.
    ["/x//../secret", ["/secret", "/x/secret", "/x//../secret"]],
    ["/x/%2f../secret", ["/secret", "/x/secret", "/x//../secret"]],
    ["/x//%2e%2e/secret", ["/secret", "/x/secret", "/x//../secret"]],
    // Decoded twice it cannot be read, so that there is no such reading.
    ["/100%25", ["/100%"]],
    ["/100%25zz/%2561", ["/100%zz/%61"]],
    // Parameters that hold what a decoder would turn into a slash.
    ["/a;x%2F..%2Fb/c", ["/b/c", "/a;x/../b/c", "/a/c"]],
    // Parameters below two layers of encoding.
    ["/x/%252e%252e;y%252fsecret", expect.arrayContaining(["/secret"])],
  ])("%s", (uri, expected) => {
    expect(readings(uri)).toEqual(expected);
  });

  test("a site that does not mind case has lower-cased copies, after the others", () => {
    expect(readings("/Archive", true)).toEqual(["/Archive", "/archive"]);
    expect(readings("/archive", true)).toEqual(["/archive"]);
    expect(readings("/A/../B", true)).toEqual(["/B", "/A/../B", "/b", "/a/../b"]);
    expect(readings("/%C3%84", true)).toEqual(["/Ä", "/ä"]);
  });
});

describe("what is kept of a target", () => {
  test.each([
    // D13 to D15
    ["/?", "/", ""],
    ["/a?", "/a", ""],
    ["/a??b", "/a", "?b"],
    ["/a?x=1#f", "/a", "x=1"],
    ["/a#f?x", "/a", ""],
    ["/a?x=%", "/a", "x=%"],
    ['/a?q="<>{}', "/a", 'q="<>{}'],
    ["/a?x=a;b&y={env.HOME}", "/a", "x=a;b&y={env.HOME}"],
    // D16
    ["/a?q=\u00c3\u00a9", "/a", "q=é"],
    ["/a?q=\u00e9", "/a", "q=%E9"],
    ["/%61?%61", "/%61", "%61"],
    // D17, and absolute forms that are not quite right
    ["http://example.test/abs?x", "/abs", "x"],
    ["HTTP://EXAMPLE.TEST/abs", "/abs", ""],
    ["http://user:pw@example.test/abs", "/abs", ""],
    ["hTTps://example.test/abs#f", "/abs", ""],
    ["http:/x", "/x", ""],
    ["http:///x", "/x", ""],
    ["http:////x", "//x", ""],
  ])("%s: path %s, query %s", (uri, rawPath, query) => {
    expect(parseTarget(uri, false)).toMatchObject({ kind: "target", target: { rawPath, query } });
  });
});

describe("a target that is refused with 400", () => {
  test.each([
    // D8, D9, D12, D19
    "/a%00b",
    "/a%0d%0aX:1",
    "/a%7Fb",
    "/a%C2%85b",
    "/a\tb",
    "/a b",
    "/a%",
    "/a%2",
    "/a%zz",
    "/a%+1",
    "abs-no-slash",
    "?x",
    "#f",
    "",
    "*",
    "http://example.test",
    "http://example.test?x",
    "http://example.test\\a/b",
    "http:x",
    "ftp://example.test/x",
    "\\\\host\\x",
    "/\u0431",
  ])("%s", (uri) => {
    expect(parseTarget(uri, false)).toMatchObject({
      kind: "malformed",
      status: 400,
      reason: "malformed_path",
    });
  });

  test("is recorded as it came", () => {
    expect(parseTarget("/a%zz?q#f", false)).toMatchObject({ rawPath: "/a%zz", query: "q" });
  });
});

test("a path of 8,192 bytes is judged, a longer one is refused with 414; the query does not count", () => {
  const query = "q".repeat(20_000);
  for (const start of ["/", "/%61", "//"]) {
    const longest = start + "a".repeat(8192 - start.length);
    expect(parseTarget(`${longest}?${query}`, false).kind).toBe("target");
    expect(parseTarget(`${longest}a?${query}`, false)).toMatchObject({
      status: 414,
      reason: "path_too_long",
      rawPath: `${longest}a`,
    });
  }
});

test("the worst path that is judged takes a few milliseconds", () => {
  for (const unit of [
    "/..",
    "/",
    "\\",
    ";",
    "%E9",
    "\u00e9",
    "%25",
    "%252e%252e/",
    "/;%2e",
    "/a/../",
    "%",
  ]) {
    const uri = `/${unit.repeat(Math.floor(8191 / unit.length))}`;
    const start = performance.now();
    for (let round = 0; round < 5; round++) parseTarget(uri, true);
    expect((performance.now() - start) / 5).toBeLessThan(100);
  }
});

describe("any target at all", () => {
  const outcome = (uri: string, caseInsensitive: boolean): unknown => {
    const result = parseTarget(uri, caseInsensitive);
    return result.kind === "malformed" ? result.reason : result.target.readings;
  };
  const piece = fc.constantFrom(
    ..."/ // /. /.. .. . a A b ; ;x= \\ % %2f %2F %2e %252e %25 %5c %3b %00 %0a %C3%A9 %E9 %C0%AF é \u00c3\u00a9 ? # http:// *".split(
      " ",
    ),
  );
  const target = fc
    .array(piece, { maxLength: 14 })
    .map((parts) => `/${parts.join("")}`)
    .chain((text) => fc.constantFrom(text, text, text, text.slice(1)));
  const any = fc.oneof({ weight: 4, arbitrary: target }, fc.string({ unit: "binary" }));

  test("has at most 26 distinct readings, each absolute, the canonical one tidy", () => {
    fc.assert(
      fc.property(any, fc.boolean(), (uri, caseInsensitive) => {
        const result = parseTarget(uri, caseInsensitive);
        if (result.kind === "malformed") return;
        const found = result.target.readings;
        expect(new Set(found).size).toBe(found.length);
        expect(found.length).toBeLessThanOrEqual(caseInsensitive ? 26 : 13);
        expect(found.every((reading) => reading.startsWith("/") && reading.isWellFormed())).toBe(
          true,
        );
        expect(found[0]).not.toMatch(/\/\/|\/\.\.?(\/|$)|\p{Cc}/u);
      }),
      { numRuns: 5000 },
    );
  });

  test("sent as its own canonical reading is read as itself first", () => {
    fc.assert(
      fc.property(any, (uri) => {
        const result = parseTarget(uri, false);
        if (result.kind === "malformed") return;
        const canonical = result.target.readings[0];
        const encoded = toByteText(canonical).replace(/[^/\w.\\;-]/g, (byte) => {
          return `%${byte.charCodeAt(0).toString(16).padStart(2, "0")}`;
        });
        expect(readings(encoded)[0]).toBe(canonical);
      }),
      { numRuns: 3000 },
    );
  });

  test("that is taken for plain has the readings that the long way finds", () => {
    const plain = fc
      .array(fc.constantFrom("/", "a", "B", ".", "..", "-", "_", "~", "!", ":", "@", "{"), {
        maxLength: 10,
      })
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(plain, fc.boolean(), (path, caseInsensitive) => {
        // Bytes that are not encoded take the long way; nothing else about the path differs.
        const long = readings(`/\u00c3\u00a9${path}`, caseInsensitive);
        const plainly = long?.map((reading) => reading.replace("é", "e"));
        expect(readings(`/e${path}`, caseInsensitive)).toEqual(plainly);
      }),
      { numRuns: 3000 },
    );
  });

  test("that is taken for encoded and no more has the readings that the long way finds", () => {
    const encoded = fc
      .array(fc.oneof(piece, fc.constantFrom("%e2%82%ac", "%F0%9F%98%80", "%ed%a0%80", "%20")), {
        maxLength: 8,
      })
      .map((parts) => parts.join("").replace(/[?#].*/, ""));
    fc.assert(
      fc.property(encoded, fc.boolean(), (path, caseInsensitive) => {
        const long = outcome(`/\u00c3\u00a9${path}`, caseInsensitive);
        expect(outcome(`/%C3%A9${path}`, caseInsensitive)).toEqual(long);
      }),
      { numRuns: 5000 },
    );
  });
});
