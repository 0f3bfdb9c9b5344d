/** Draws whole numbers below `limit`, always the same for a seed (mulberry32). */
export type Draw = (limit: number) => number;

/** A source of draws. */
export function createDraw(seed: number): Draw {
  let state = seed >>> 0;
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
}

type Kind = "bool" | "int" | "uint" | "double" | "string" | "strings" | "ints" | "map";

interface Scope {
  readonly name: string;
  readonly kind: Kind;
}

export const SETS: ReadonlyMap<string, readonly string[] | readonly bigint[]> = new Map<
  string,
  readonly string[] | readonly bigint[]
>([
  ["paths", ["/archive", "/archive/a", "/data", "/data/", "/a/b", "/", "", "/ä"]],
  ["ids", ["gptbot", "oddbot", "unknown", "/archive"]],
  ["nets", ["203.0.113.0/24", "2001:db8::/32", "10.0.0.1"]],
  ["mixed_nets", ["203.0.113.0/24", "no block"]],
  ["numbers", [0n, 1n, 2n, 80n, -1n]],
  ["empty", []],
]);

const STRINGS = [
  '""',
  '"/archive"',
  '"/archive/a"',
  '"/arch"',
  '"/"',
  '"a"',
  '"GET"',
  '"gptbot"',
  '"ai_training"',
  '"ä😀"',
  '"5"',
  '"true"',
  '"x-a"',
  '"203.0.113.7"',
];
const INPUTS = [
  ..."bot.id bot.name bot.class bot.operator string(bot.verification) labels.bot_id".split(" "),
  ..."site.id site.host site.mode labels.host labels.path request.path".split(" "),
  ..."request.path request.path request.host request.method request.query".split(" "),
  ..."request.raw_path request.scheme request.ip request.user_agent".split(" "),
];
const KEYS = ['"x-a"', '"x-b"', '"x-num"', '"absent"', '"__proto__"', "request.query"];
const PATTERNS = ['"^/arch"', '"a$"', 'r"^/[a-z]+/?$"', '"(?i)GPT"', '""', '"ä+"', 'r"\\d"'];

/** A well-typed condition, no deeper than `depth`. */
export function drawCondition(draw: Draw, depth: number): string {
  return createWriter(draw).write("bool", depth, []);
}

/** A condition that compares the path with constants. */
export function drawPathCondition(draw: Draw): string {
  const texts = ['"/"', '"/archive"', '"/archive/a"', '"/a"', '"/d"', '"/a/b/"', '"/archives"'];
  const text = () => texts[draw(texts.length)] ?? "";
  const shapes = [
    () => `request.path == ${text()}`,
    () => `request.path.startsWith(${text()})`,
    () => `pathUnder(request.path, ${text()})`,
    () => `request.path.startsWith(${text()}) || labels.path == ${text()}`,
    () => `request.path in [${text()}, ${text()}]`,
    () => "sets.paths.exists(p, pathUnder(request.path, p)) && bot.claimed",
  ];
  return shapes[draw(shapes.length)]?.() ?? "";
}

interface Writer {
  write(kind: Kind, depth: number, scopes: readonly Scope[]): string;
}

function createWriter(draw: Draw): Writer {
  const pick = <T>(items: readonly T[]): T => {
    const item = items[draw(items.length)];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  };

  function write(kind: Kind, depth: number, scopes: readonly Scope[]): string {
    const variables = scopes.filter((scope) => scope.kind === kind);
    if (variables.length > 0 && draw(3) === 0) return pick(variables).name;
    if (depth <= 0) return leaf(kind);
    const next = (inner: Kind) => write(inner, depth - 1, scopes);
    if (draw(12) === 0) return `(${next("bool")} ? ${next(kind)} : ${next(kind)})`;
    const body = (inner: Kind, variable: Kind) => {
      const name = pick(["p", "q", "x"]);
      return [name, write(inner, depth - 1, [...hide(scopes, name), { name, kind: variable }])];
    };
    const choices = {
      bool: () => pick(BOOLS)(next, body),
      int: () => pick(INTS)(next),
      uint: () =>
        pick([() => `uint(${next("int")})`, () => `(${next("uint")} + ${next("uint")})`])(),
      double: () =>
        pick([
          () => `double(${next(pick(["int", "string", "uint"]))})`,
          () => `(${next("double")} ${pick(["+", "-", "*", "/"])} ${next("double")})`,
        ])(),
      string: () => pick(TEXTS)(next),
      strings: () => pick(LISTS)(next, body),
      ints: () =>
        pick([
          () => `[${next("int")}, ${next("int")}]`,
          () => "sets.numbers",
          () => `${next("ints")}.map(${body("int", "int").join(", ")})`,
          () => `${next("ints")}.filter(${body("bool", "int").join(", ")})`,
          () => `(${next("ints")} + ${next("ints")})`,
        ])(),
      map: () => `{${next("string")}: ${next("int")}, "k": ${next("int")}}`,
    };
    return choices[kind]();
  }

  /** A name that is taken again hides the outer variable of that name. */
  function hide(scopes: readonly Scope[], name: string): readonly Scope[] {
    return scopes.filter((scope) => scope.name !== name);
  }

  function leaf(kind: Kind): string {
    switch (kind) {
      case "bool":
        return pick(["true", "false", "bot.claimed", "bot.verified", "bot.verifiable"]);
      case "int":
        return pick(["0", "1", "-1", "2", "80", "9223372036854775807", "-9223372036854775808"]);
      case "uint":
        return pick(["0u", "1u", "80u", "18446744073709551615u"]);
      case "double":
        return pick(["0.0", "1.5", "-2.0", "1e300"]);
      case "string":
        return draw(3) === 0 ? pick(STRINGS) : pick(INPUTS);
      case "strings":
        return pick([
          "sets.paths",
          "sets.ids",
          "bot.by_ip",
          "sets.empty",
          '["a", "/archive"]',
          "[]",
        ]);
      case "ints":
        return pick(["sets.numbers", "[1, 2]", "[0, 80, 80]"]);
      case "map":
        return pick(['{"a": 1, "/archive": 2}', "{}", '{"a": 1, "a": 2}']);
    }
  }

  type Next = (kind: Kind) => string;
  type Body = (kind: Kind, variable: Kind) => readonly string[];

  const BOOLS: readonly ((next: Next, body: Body) => string)[] = [
    (next) => `(${next("bool")} && ${next("bool")})`,
    (next) => `(${next("bool")} || ${next("bool")})`,
    (next) => `(${next("bool")} && ${next("bool")} && ${next("bool")})`,
    (next) => `(${next("bool")} || ${next("bool")} || ${next("bool")})`,
    (next) => `!${next("bool")}`,
    (next) => `(${next("string")} ${pick(["==", "!="])} ${next("string")})`,
    (next) => `(${next("string")} ${pick(["==", "!="])} ${pick(STRINGS)})`,
    (next) => `(${next("string")} ${pick(["<", "<=", ">", ">="])} ${next("string")})`,
    (next) => `(${next("int")} ${pick(["==", "!=", "<", "<=", ">", ">="])} ${next("int")})`,
    (next) => `(${next("int")} ${pick(["<", ">="])} ${next(pick(["double", "uint"]))})`,
    (next) => `(${next("uint")} == ${next("uint")})`,
    (next) => `(${next("double")} ${pick(["==", "<"])} ${next("double")})`,
    (next) => `(${next("bool")} == ${next("bool")})`,
    (next) => `(${next("strings")} == ${next("strings")})`,
    (next) => `(${next("map")} == ${next("map")})`,
    (next) =>
      `${next("string")}.${pick(["startsWith", "endsWith", "contains"])}(${next("string")})`,
    (next) => `${next("string")}.${pick(["startsWith", "endsWith"])}(${pick(STRINGS)})`,
    (next) => `${next("string")}.matches(${pick(PATTERNS)})`,
    (next) => `pathUnder(${next("string")}, ${next("string")})`,
    (next) => `inCidr(${pick(["request.ip", next("string")])}, "203.0.113.0/24")`,
    () => "sets.nets.exists(n, inCidr(request.ip, n))",
    () => 'sets.mixed_nets.exists(n, inCidr(request.ip, n + ""))',
    (next) => `(${next("string")} in ${next("strings")})`,
    (next) => `(${next("int")} in ${next("ints")})`,
    (next) => `(${next("string")} in ${next("map")})`,
    () => `(${pick(KEYS)} in request.headers)`,
    () => `has(request.headers.${pick(["a", "referer", "constructor"])})`,
    () => pick(["request.headers.exists(h, h.startsWith('x-'))", "(size(request.headers) > 1)"]),
    (next) => `bool(${next("string")})`,
    (_next, body) => quantify("sets.paths", body("bool", "string")),
    (_next, body) => quantify("sets.ids", body("bool", "string")),
    (_next, body) => quantify("bot.by_ip", body("bool", "string")),
    (next, body) => quantify(next("strings"), body("bool", "string")),
    (next, body) => quantify(next("ints"), body("bool", "int")),
    (next) =>
      `sets.paths.${pick(["exists", "all"])}(w, ${next("bool")} ${pick(["&&", "||"])} ${pick(["", "!"])}${next("string")}.startsWith(w))`,
    () =>
      `sets.paths.${pick(["exists", "all"])}(w, ${pick(["", "!"])}pathUnder(request.path, w + ${pick(['""', '"/"'])}))`,
    () => `sets.ids.${pick(["exists", "all"])}(${pick(["bot", "request"])}, "a" != "b")`,
    () => `sets.ids.exists(bot, bot == ${pick(STRINGS)} || bot.startsWith(request.path))`,
    () => `sets.ids.${pick(["exists", "all"])}(i, i ${pick(["==", "!="])} ${pick(INPUTS)})`,
  ];

  function quantify(range: string, [name, test]: readonly string[]): string {
    return `${range}.${pick(["exists", "all", "exists_one"])}(${name}, ${test})`;
  }

  const INTS: readonly ((next: Next) => string)[] = [
    (next) => `(${next("int")} ${pick(["+", "-", "*", "/", "%"])} ${next("int")})`,
    (next) => `-(${next("int")})`,
    (next) => `size(${next(pick(["string", "strings", "ints", "map"]))})`,
    (next) => `${next("string")}.size()`,
    (next) => `int(${next(pick(["string", "double", "uint"]))})`,
    (next) => `${next("string")}.${pick(["indexOf", "lastIndexOf"])}(${next("string")})`,
    (next) => `${next("ints")}[${next("int")}]`,
    (next) => `${next("map")}[${next("string")}]`,
  ];

  const TEXTS: readonly ((next: Next) => string)[] = [
    (next) => `(${next("string")} + ${next("string")})`,
    () => `request.headers[${pick(KEYS)}]`,
    (next) => `header(${pick(['"X-A"', '"absent"', next("string")])})`,
    (next) => `${next("string")}.${pick(["lowerAscii", "upperAscii", "trim"])}()`,
    (next) => `${next("string")}.charAt(${next("int")})`,
    (next) => `${next("string")}.substring(${next("int")})`,
    (next) => `${next("string")}.substring(${next("int")}, ${next("int")})`,
    (next) => `${next("string")}.replace(${pick(STRINGS)}, ${pick(STRINGS)})`,
    (next) =>
      `${next("string")}.replace(${pick(['""', '"a"', '"/"'])}, ${next("string")}, ${pick(["0", "1", "3", "-1"])})`,
    (next) => `string(${next(pick(["int", "bool", "double", "uint", "string"]))})`,
    (next) => `${next("strings")}.join("-")`,
    (next) => `${next("strings")}[${next("int")}]`,
    (next) => `strings.quote(${next("string")})`,
  ];

  const LISTS: readonly ((next: Next, body: Body) => string)[] = [
    (next) => `[${next("string")}, ${next("string")}]`,
    (next) => `(${next("strings")} + ${next("strings")})`,
    (next) => `${next("string")}.split(${pick(['"/"', '"a"'])})`,
    (next, body) => `${next("strings")}.map(${body("string", "string").join(", ")})`,
    (next, body) => `${next("strings")}.filter(${body("bool", "string").join(", ")})`,
    (next, body) => {
      const [name, test] = body("bool", "string");
      return `${next("strings")}.map(${name}, ${test}, ${name} + "!")`;
    },
    (_next, body) => `sets.paths.filter(${body("bool", "string").join(", ")})`,
  ];

  return { write };
}
