import { celList } from "@bufbuild/cel";
import { isInBlocks } from "../functions.ts";
import type { Compiler, Run } from "../predicate.ts";
import type { RequestField, Term, TextTerm } from "../term.ts";
import { createTextIndex, NO_RANK } from "../text-index.ts";

/** Reads the inputs of a request. */
export const INPUTS: Readonly<Record<RequestField, Run>> = {
  by_ip: (request) => celList(request.byIp ?? []),
  host: (request) => request.host,
  method: (request) => request.method,
  path: (_request, path) => path,
  raw_path: (request) => request.target.rawPath,
  query: (request) => request.target.query,
  scheme: (request) => request.scheme,
  ip: (request) => request.address.ip,
  user_agent: (request) => request.userAgent,
};

/** Up to so many constants, comparing one after the other is as fast as an index. */
const FEW = 4;

/** A test of a text against constants. */
export function compileText(term: TextTerm, compiler: Compiler): Run {
  const text = compiler.compile(term.text);
  const holds = createMatcher(term.exact, term.prefixes);
  return (request, path) => {
    const value = text(request, path);
    return typeof value === "string" ? holds(value) : value;
  };
}

function createMatcher(
  exact: readonly string[],
  prefixes: readonly string[],
): (text: string) => boolean {
  const [value] = exact;
  const [prefix] = prefixes;
  if (exact.length === 1 && value !== undefined && prefix === undefined) {
    return (text) => text === value;
  }
  if (prefixes.length === 1 && prefix !== undefined && value === undefined) {
    return (text) => text.startsWith(prefix);
  }
  if (exact.length + prefixes.length <= FEW) {
    return (text) => isOneOf(text, exact) || startsWithOneOf(text, prefixes);
  }
  const find = createTextIndex(ranked(exact), ranked(prefixes));
  return (text) => find(text) !== NO_RANK;
}

function isOneOf(text: string, values: readonly string[]): boolean {
  for (const value of values) {
    if (text === value) return true;
  }
  return false;
}

function startsWithOneOf(text: string, prefixes: readonly string[]): boolean {
  for (const prefix of prefixes) {
    if (text.startsWith(prefix)) return true;
  }
  return false;
}

function ranked(texts: readonly string[]): ReadonlyMap<string, number> {
  return new Map(texts.map((text) => [text, 0]));
}

/** Whether an address lies in constant blocks. */
export function compileAddress(term: Extract<Term, { kind: "address" }>, compiler: Compiler): Run {
  const text = compiler.compile(term.text);
  const { blocks } = term;
  return (request, path) => {
    const value = text(request, path);
    return typeof value === "string" ? isInBlocks(value, blocks) : value;
  };
}
