import { BOOL, DOUBLE, INT, listOf, mapOf, STRING, type Type, UINT } from "./types.ts";

/** One way to call a function. Of a method, the first parameter is what stands before the dot. */
export interface Signature {
  readonly parameters: readonly Type[];
  readonly result: Type;
}

/** A function as rules may call it. */
export interface FunctionType {
  readonly name: string;
  /** `function` is `f(x)`, `method` is `x.f()`, `operator` has a spelling of its own. */
  readonly style: "function" | "method" | "operator" | "either";
  /** How a person writes it. */
  readonly usage: string;
  readonly signatures: readonly Signature[];
}

type Row = readonly [parameters: readonly Type[], result: Type];

const T: Type = { kind: "parameter", name: "T" };
const K: Type = { kind: "parameter", name: "K" };
const V: Type = { kind: "parameter", name: "V" };
const LIST = listOf(T);
const STRINGS = listOf(STRING);
const MAP = mapOf(K, V);
const NUMBERS = [INT, UINT, DOUBLE];

const same = (types: readonly Type[]): Row[] => types.map((type) => [[type, type], type]);
const MIXED_ORDER: Row[] = NUMBERS.flatMap((left) =>
  NUMBERS.filter((right) => right !== left).map((right): Row => [[left, right], BOOL]),
);
const ORDER: Row[] = [
  ...[...NUMBERS, STRING, BOOL].map((type): Row => [[type, type], BOOL]),
  ...MIXED_ORDER,
];
const SIZE: Row[] = [STRING, LIST, MAP].map((type) => [[type], INT]);
const convert = (from: readonly Type[], to: Type): Row[] => from.map((type) => [[type], to]);

function define(style: FunctionType["style"], name: string, usage: string, rows: readonly Row[]) {
  const signatures = rows.map(([parameters, result]) => ({ parameters, result }));
  return { name, style, usage, signatures };
}

const operator = (name: string, usage: string, rows: readonly Row[]) =>
  define("operator", name, usage, rows);
const method = (name: string, usage: string, ...rows: readonly Row[]) =>
  define("method", name, usage, rows);
const plain = (name: string, usage: string, rows: readonly Row[]) =>
  define("function", name, usage, rows);

const OPERATORS: readonly FunctionType[] = [
  operator("_&&_", "&&", [[[BOOL, BOOL], BOOL]]),
  operator("_||_", "||", [[[BOOL, BOOL], BOOL]]),
  operator("!_", "!", [[[BOOL], BOOL]]),
  operator("-_", "-", convert([INT], INT).concat(convert([DOUBLE], DOUBLE))),
  operator("_?_:_", "? :", [[[BOOL, T, T], T]]),
  operator("_==_", "==", [[[T, T], BOOL]]),
  operator("_!=_", "!=", [[[T, T], BOOL]]),
  operator("_<_", "<", ORDER),
  operator("_<=_", "<=", ORDER),
  operator("_>_", ">", ORDER),
  operator("_>=_", ">=", ORDER),
  operator("_+_", "+", [...same([...NUMBERS, STRING]), [[LIST, LIST], LIST]]),
  operator("_-_", "-", same(NUMBERS)),
  operator("_*_", "*", same(NUMBERS)),
  operator("_/_", "/", same(NUMBERS)),
  operator("_%_", "%", same([INT, UINT])),
  operator("_[_]", "[ ]", [
    [[LIST, INT], T],
    [[MAP, K], V],
  ]),
  operator("@in", "in", [
    [[T, LIST], BOOL],
    [[K, MAP], BOOL],
  ]),
];

const STANDARD: readonly FunctionType[] = [
  define("either", "size", "size(x)", SIZE),
  plain("int", "int(x)", convert([...NUMBERS, STRING], INT)),
  plain("uint", "uint(x)", convert([...NUMBERS, STRING], UINT)),
  plain("double", "double(x)", convert([...NUMBERS, STRING], DOUBLE)),
  plain("bool", "bool(x)", convert([BOOL, STRING], BOOL)),
  plain("string", "string(x)", convert([...NUMBERS, BOOL, STRING], STRING)),
  method("contains", "text.contains(part)", [[STRING, STRING], BOOL]),
  method("endsWith", "text.endsWith(suffix)", [[STRING, STRING], BOOL]),
  method("startsWith", "text.startsWith(prefix)", [[STRING, STRING], BOOL]),
  method("matches", "text.matches(pattern)", [[STRING, STRING], BOOL]),
];

const STRING_EXTENSION: readonly FunctionType[] = [
  plain("strings.quote", "strings.quote(text)", [[[STRING], STRING]]),
  method("charAt", "text.charAt(index)", [[STRING, INT], STRING]),
  method("indexOf", "text.indexOf(part)", [[STRING, STRING], INT], [[STRING, STRING, INT], INT]),
  method(
    "lastIndexOf",
    "text.lastIndexOf(part)",
    [[STRING, STRING], INT],
    [[STRING, STRING, INT], INT],
  ),
  method("lowerAscii", "text.lowerAscii()", [[STRING], STRING]),
  method("upperAscii", "text.upperAscii()", [[STRING], STRING]),
  method(
    "replace",
    "text.replace(part, by)",
    [[STRING, STRING, STRING], STRING],
    [[STRING, STRING, STRING, INT], STRING],
  ),
  method("split", "text.split(by)", [[STRING, STRING], STRINGS], [[STRING, STRING, INT], STRINGS]),
  method(
    "substring",
    "text.substring(start, end)",
    [[STRING, INT], STRING],
    [[STRING, INT, INT], STRING],
  ),
  method("trim", "text.trim()", [[STRING], STRING]),
  method("join", "list.join(by)", [[STRINGS], STRING], [[STRINGS, STRING], STRING]),
];

const OURS: readonly FunctionType[] = [
  plain("pathUnder", "pathUnder(path, prefix)", [[[STRING, STRING], BOOL]]),
  plain("inCidr", "inCidr(ip, cidr)", [[[STRING, STRING], BOOL]]),
  plain("header", "header(name)", [[[STRING], STRING]]),
];

/** Every function and operator that rules may use, by the name that it has in a syntax tree. */
export const FUNCTIONS: ReadonlyMap<string, FunctionType> = new Map(
  [...OPERATORS, ...STANDARD, ...STRING_EXTENSION, ...OURS].map((entry) => [entry.name, entry]),
);

/** The macros, which the parser has expanded before any of this is asked. */
export const MACROS: readonly string[] = ["has", "all", "exists", "exists_one", "map", "filter"];

/** The names of functions and macros that a message can offer, operators left out. */
export const CALLABLE_NAMES: readonly string[] = [
  ...[...FUNCTIONS.values()].filter((entry) => entry.style !== "operator").map((it) => it.name),
  ...MACROS,
].sort();
