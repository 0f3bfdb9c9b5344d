import { isCelList } from "@bufbuild/cel";
import type { AddressSet } from "../cidr.ts";
import { isInBlocks, readBlocks, withoutSlashes } from "./functions.ts";
import { FALSE, type Term, TRUE } from "./term.ts";
import { textTerm } from "./text-term.ts";

/** A call that tests a text against constants, as a test that an index can answer; else undefined. */
export function foldTest(name: string, args: readonly Term[]): Term | undefined {
  const [left, right] = args;
  if (left === undefined || right === undefined) return undefined;
  switch (name) {
    case "_==_":
      return equalityTest(left, right) ?? equalityTest(right, left);
    case "startsWith":
      return testAgainst(left, [right], "prefix");
    case "pathUnder":
      return testAgainst(left, [right], "path");
    case "inCidr":
      return addressTest(left, stringsIn([right]));
    case "@in":
      return membershipTest(left, right);
    default:
      return undefined;
  }
}

/** How a text is compared with each of several constants. */
export type Comparison = "equal" | "prefix" | "path" | "address";

/** A test of `text` against constants: true where it holds for one of them. */
export function testAgainst(
  text: Term,
  constants: readonly Term[],
  comparison: Comparison,
): Term | undefined {
  const strings = stringsIn(constants);
  if (strings === undefined) return undefined;
  switch (comparison) {
    case "equal":
      return knownTest(text, strings, []);
    case "prefix":
      return knownTest(text, [], strings);
    case "path": {
      const bases = strings.map(withoutSlashes);
      return knownTest(
        text,
        bases,
        bases.map((base) => `${base}/`),
      );
    }
    case "address":
      return addressTest(text, strings);
  }
}

function equalityTest(text: Term, constant: Term): Term | undefined {
  return testAgainst(text, [constant], "equal");
}

function membershipTest(text: Term, list: Term): Term | undefined {
  if (list.kind !== "value" || !isCelList(list.value)) return undefined;
  const strings: string[] = [];
  for (const item of list.value) {
    if (typeof item !== "string") return undefined;
    strings.push(item);
  }
  // Whether an empty list was meant to hold strings cannot be told.
  return strings.length === 0 ? undefined : knownTest(text, strings, []);
}

/** A test of a text, worked out where the text is constant. */
export function knownTest(text: Term, exact: readonly string[], prefixes: readonly string[]): Term {
  if (text.kind === "value" && typeof text.value === "string") {
    const known = text.value;
    const holds = exact.includes(known) || prefixes.some((prefix) => known.startsWith(prefix));
    return holds ? TRUE : FALSE;
  }
  return textTerm(text, exact, prefixes);
}

function addressTest(text: Term, strings: readonly string[] | undefined): Term | undefined {
  if (strings === undefined) return undefined;
  const result = readBlocks(strings);
  // A text that is no block is an error of evaluation: the general call makes it.
  if (result.kind === "bad") return undefined;
  return knownAddress(text, result.blocks);
}

/** A test of an address, worked out where the address is constant. */
export function knownAddress(text: Term, blocks: AddressSet): Term {
  if (text.kind === "value" && typeof text.value === "string") {
    return isInBlocks(text.value, blocks) ? TRUE : FALSE;
  }
  return { kind: "address", text, blocks, needs: text.needs, mayFail: text.mayFail };
}

function stringsIn(terms: readonly Term[]): readonly string[] | undefined {
  const strings: string[] = [];
  for (const term of terms) {
    if (term.kind !== "value" || typeof term.value !== "string") return undefined;
    strings.push(term.value);
  }
  return strings;
}
