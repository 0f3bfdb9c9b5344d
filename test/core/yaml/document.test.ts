import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Document, Scalar } from "yaml";
import { readDocument, type SourceDocument } from "../../../src/core/yaml/document.ts";

function read(text: string): SourceDocument {
  const { document, faults } = readDocument("a.yaml", text);
  if (document === undefined) throw new Error(JSON.stringify(faults));
  return document;
}

const TEXT = `site:
  id: docs
  empty:
list:
  - first: 1
    second: two
  - {a: 1, b: {c: 2}}
same: &x
  deep: [1, 2]
again: *x
`;

describe("where values stand", () => {
  const document = read(TEXT);

  test.each([
    [["site"], 1, 1],
    [["site", "id"], 2, 7],
    [["site", "empty"], 3, 3],
    [["site", "nothing", "below"], 1, 1],
    [["list"], 4, 1],
    [["list", 0], 5, 5],
    [["list", 0, "second"], 6, 13],
    [["list", 1, "b", "c"], 7, 19],
    [["list", 7], 4, 1],
    [["again", "deep", 1], 9, 13],
    [["nothing"], 1, 1],
  ] as const)("the value at %j is at %i:%i", (path, line, column) => {
    expect(document.at(path)).toEqual({ line, column });
  });

  test("a key is found apart from its value", () => {
    expect(document.keyAt(["list", 0, "second"])).toEqual({ line: 6, column: 5 });
  });
});

describe("what values are", () => {
  test("numbers and booleans under verbatim keys stay as written", () => {
    const { document } = readDocument(
      "a.yaml",
      'amount: 0.30\nother: 0.30\nin: {amount: true}\nquoted: {amount: "x"}\n',
      new Set(["amount"]),
    );
    expect(document?.value).toEqual({
      amount: "0.30",
      other: 0.3,
      in: { amount: "true" },
      quoted: { amount: "x" },
    });
  });

  test("words that other YAML takes for booleans are words", () => {
    expect(read("a: yes\nb: no\nc: on\nd: 1_000\n").value).toEqual({
      a: "yes",
      b: "no",
      c: "on",
      d: "1_000",
    });
  });

  test.each([33, 50_000])("a list %s levels deep is told to be too deep", (levels) => {
    const { faults } = readDocument("a.yaml", `a: ${"[".repeat(levels)}${"]".repeat(levels)}`);
    expect(faults[0]?.message).toBe("nested too deep; at most 32 levels");
  });

  test("a file of over 4 MiB is refused", () => {
    const { document, faults } = readDocument("a.yaml", `a: "${"x".repeat(4 * 1024 * 1024)}"`);
    expect(document).toBeUndefined();
    expect(faults[0]?.message).toBe("longer than 4 MiB");
  });

  test("any text at all is read or refused, and never throws", () => {
    const piece = fc.constantFrom(
      ..."a: - [ ] { } & * ! | > ' \" # % @ , ? \n".split(" "),
      "\n",
      "  ",
      "a",
      "*a",
      "&a",
      "\t",
      "\\",
      "\u{0}",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const { document, faults } = readDocument("a.yaml", pieces.join(""));
        expect(document !== undefined || faults.length > 0).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

describe("a character inside a text is found where it is written", () => {
  const word = fc.stringMatching(/^[a-z'.&|()=\u00e4]{1,12}$/);
  const separator = fc.constantFrom(" ", "  ", "\n", "\n\n");
  const text = fc
    .array(fc.tuple(word, separator), { minLength: 1, maxLength: 12 })
    .map((parts) => `x${parts.flat().join("")}y`);

  test.each([
    Scalar.PLAIN,
    Scalar.QUOTE_SINGLE,
    Scalar.QUOTE_DOUBLE,
    Scalar.BLOCK_LITERAL,
    Scalar.BLOCK_FOLDED,
  ] as const)("%s", (type) => {
    fc.assert(
      fc.property(text, (value) => {
        const scalar = new Scalar(value);
        scalar.type = type;
        const source = new Document({ rules: [{ id: "a", when: scalar }] }).toString();
        const document = read(source);
        const lines = source.split("\n");
        for (const [offset, character] of [...value].entries()) {
          if (/\s/.test(character)) continue;
          const { line, column } = document.inside(["rules", 0, "when"], offset);
          expect(lines[line - 1]?.charAt(column - 1)).toBe(character);
        }
      }),
      { numRuns: 100 },
    );
  });

  test("escapes in double quotes count as the one character that they stand for", () => {
    const document = read('when: "a\\u0042\\n\\"c\\x44\\\n  e"\n');
    expect(document.value).toEqual({ when: 'aB\n"cDe' });
    const columns = [...'aB"cDe'].map((character) => {
      const offset = 'aB\n"cDe'.indexOf(character);
      const { line, column } = document.inside(["when"], offset);
      return `${line}:${column}`;
    });
    expect(columns).toEqual(["1:8", "1:9", "1:17", "1:19", "1:20", "2:3"]);
  });
});
