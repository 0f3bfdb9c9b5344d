import {
  type Alias,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
} from "yaml";
import type { Fault } from "../policy/fault.ts";
import { createLineIndex, type Position } from "./line-index.ts";
import { sourceOffset } from "./scalar.ts";
import { yamlFaults } from "./syntax-faults.ts";

/** Where a value stands in a document: map keys and list indexes from the root. */
export type Path = readonly (string | number)[];

/** The values of a YAML document, and where each was written. */
export interface SourceDocument {
  readonly file: string;
  /** Plain values; maps keep any key as their own, so none reaches a prototype. */
  readonly value: unknown;
  /** The value at a path, or the nearest thing around it that was written. */
  at(path: Path): Position;
  /** The last key of a path, or the nearest thing around it that was written. */
  keyAt(path: Path): Position;
  /** One character of the text at a path, `offset` in UTF-16 code units of the value. */
  inside(path: Path, offset: number): Position;
}

/** A document, or nothing when its text is no YAML; and what is wrong with it, either way. */
export interface DocumentReading {
  readonly document: SourceDocument | undefined;
  readonly faults: readonly Fault[];
}

/** Longest file, in characters. */
const LONGEST_TEXT = 4 * 1024 * 1024;
/** Most faults of the YAML itself that are worth telling. */
const MOST_FAULTS = 20;
/** Deepest nesting of maps and lists. */
const DEEPEST = 32;
/** Most values that all aliases together may repeat. */
const MOST_REPEATED = 100_000;

/**
 * Reads YAML 1.2 strictly: one document, unique keys, no unknown tags, bounded aliases. Numbers and
 * booleans under a key of `verbatim` are given as the text that was written.
 */
export function readDocument(
  file: string,
  written: string,
  verbatim: ReadonlySet<string> = new Set(),
): DocumentReading {
  const start = { file, line: 1, column: 1, path: "" };
  if (written.length > LONGEST_TEXT) {
    return { document: undefined, faults: [{ ...start, message: "longer than 4 MiB" }] };
  }
  const text = written.startsWith("\ufeff") ? written.slice(1) : written;
  const yaml = parseDocument(text, {
    prettyErrors: false,
    strict: true,
    uniqueKeys: true,
    version: "1.2",
  });
  const place = createLineIndex(text);
  const faults = yamlFaults(yaml, text)
    .slice(0, MOST_FAULTS)
    .map(({ offset, message }) => ({ ...start, ...place(offset), message }));
  if (yaml.errors.some((error) => error.code !== "DUPLICATE_KEY")) {
    return { document: undefined, faults };
  }
  const reading: Reading = {
    verbatim,
    anchors: new Map(),
    aliases: new Map(),
    faults: [],
    repeated: 0,
    isBroken: false,
  };
  const root = { key: "", depth: 0, isRepeated: false };
  // The parser's texts are views of the whole document: copies let go of it, and are read faster.
  const value = structuredClone(readValue(reading, yaml.contents, root));
  for (const { offset, message } of reading.faults) {
    faults.push({ ...start, ...place(offset), message });
  }
  if (reading.isBroken) return { document: undefined, faults };
  const source = { text, place };
  return { document: createDocument(file, value, yaml.contents, reading.aliases, source), faults };
}

/** What reading the values of one document needs on its way. */
interface Reading {
  readonly verbatim: ReadonlySet<string>;
  readonly anchors: Map<string, Node>;
  readonly aliases: Map<Alias, Node>;
  readonly faults: { readonly offset: number; readonly message: string }[];
  /** Values that stand below an alias. */
  repeated: number;
  /** Values are missing, so that nothing true can be said about the rest. */
  isBroken: boolean;
}

interface Where {
  /** The nearest key above. */
  readonly key: string;
  readonly depth: number;
  readonly isRepeated: boolean;
}

function readValue(reading: Reading, node: unknown, where: Where): unknown {
  if (isAlias(node)) return readAlias(reading, node, where);
  if (!isScalar(node) && !isMap(node) && !isSeq(node)) return null;
  if (node.anchor !== undefined) reading.anchors.set(node.anchor, node);
  if (where.isRepeated && ++reading.repeated > MOST_REPEATED) return null;
  if (isScalar(node)) return readScalar(reading, node, where.key);
  if (where.depth > DEEPEST) {
    return giveUp(reading, node, `nested too deep; at most ${DEEPEST} levels`);
  }
  const below = { ...where, depth: where.depth + 1 };
  if (isSeq(node)) return node.items.map((item) => readValue(reading, item, below));
  return Object.fromEntries(
    node.items.map((pair) => readPair(reading, pair, below)).filter((entry) => entry !== undefined),
  );
}

function readAlias(reading: Reading, alias: Alias, where: Where): unknown {
  const target = reading.anchors.get(alias.source);
  if (target === undefined) {
    return giveUp(reading, alias, `alias \`*${alias.source}\` has no anchor`);
  }
  reading.aliases.set(alias, target);
  const below = { ...where, depth: where.depth + 1, isRepeated: true };
  if (reading.repeated > MOST_REPEATED) return undefined;
  const value = readValue(reading, target, below);
  if (!where.isRepeated && reading.repeated > MOST_REPEATED) {
    return giveUp(reading, alias, `aliases repeat more than ${MOST_REPEATED} values`);
  }
  return value;
}

function readScalar(reading: Reading, scalar: Scalar, key: string): unknown {
  const { value } = scalar;
  const isText = typeof value === "string" || value === null;
  return reading.verbatim.has(key) && !isText ? (scalar.source ?? String(value)) : value;
}

function readPair(reading: Reading, pair: Pair, where: Where): [string, unknown] | undefined {
  const { key } = pair;
  if (!isScalar(key)) {
    return complain(reading, key, "a key must be a word; lists, maps and aliases cannot be keys");
  }
  const name = keyText(pair);
  if (name === "__proto__") return complain(reading, key, "a key cannot be named `__proto__`");
  return [name, readValue(reading, pair.value, { ...where, key: name })];
}

function giveUp(reading: Reading, node: unknown, message: string): undefined {
  reading.isBroken = true;
  return complain(reading, node, message);
}

function complain(reading: Reading, node: unknown, message: string): undefined {
  reading.faults.push({ offset: isNode(node) ? (node.range?.[0] ?? 0) : 0, message });
  return undefined;
}

function keyText(pair: Pair): string {
  if (!isScalar(pair.key)) return "";
  return typeof pair.key.value === "string" ? pair.key.value : (pair.key.source ?? "");
}

function createDocument(
  file: string,
  value: unknown,
  root: unknown,
  aliases: ReadonlyMap<Alias, Node>,
  source: { readonly text: string; readonly place: (offset: number) => Position },
): SourceDocument {
  const resolve = (node: unknown): unknown => (isAlias(node) ? aliases.get(node) : node);
  const walk = (path: Path): Found => find(root, path, resolve);
  return {
    file,
    value,
    at: (path) => {
      const { key, node } = walk(path);
      return source.place(startOf(resolve(node), key));
    },
    keyAt: (path) => {
      const { key, node } = walk(path);
      return source.place(key === undefined ? startOf(resolve(node), key) : key);
    },
    inside: (path, offset) => {
      const { key, node } = walk(path);
      const target = resolve(node);
      if (!isScalar(target) || typeof target.value !== "string") {
        return source.place(startOf(target, key));
      }
      return source.place(sourceOffset(target, source.text, offset));
    },
  };
}

interface Found {
  /** Where the last key on the way was written. */
  readonly key: number | undefined;
  readonly node: unknown;
}

/** Follows a path as far as the document goes. */
function find(root: unknown, path: Path, resolve: (node: unknown) => unknown): Found {
  let found: Found = { key: undefined, node: root };
  for (const step of path) {
    const node = resolve(found.node);
    if (isMap(node)) {
      const pair = node.items.find((candidate) => keyText(candidate) === step);
      if (pair === undefined) return found;
      found = { key: (pair.key as Node).range?.[0], node: pair.value };
    } else if (isSeq(node) && typeof step === "number" && step < node.items.length) {
      found = { key: undefined, node: node.items[step] };
    } else {
      return found;
    }
  }
  return found;
}

/** A text or number starts where it is written; a block map, a list and nothing at their key. */
function startOf(node: unknown, key: number | undefined): number {
  if (isScalar(node) && node.range !== undefined && node.range !== null) {
    const isWritten = node.range[0] < node.range[1];
    return isWritten || key === undefined ? node.range[0] : key;
  }
  if (key !== undefined) return key;
  return isMap(node) || isSeq(node) ? (node.range?.[0] ?? 0) : 0;
}
