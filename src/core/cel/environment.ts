import { type CelEnv, type CelMap, CelScalar, celEnv, celFunc, mapType } from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";
import type { Sets } from "../policy/policy.ts";
import { inCidr, pathUnder } from "./functions.ts";
import { compilePattern } from "./patterns.ts";
import { BOOL, INT, listOf, mapOf, type ObjectType, STRING, type Type, UNKNOWN } from "./types.ts";

/** What rules may name, and how the reference evaluator runs them. */
export interface CelEnvironment {
  readonly sets: Sets;
  /** `bot`, `request`, `site`, `labels`, `sets`, with their fields. */
  readonly objects: ReadonlyMap<string, ObjectType>;
  /** Functions and types of the reference evaluator. */
  readonly celEnv: CelEnv;
}

/** What an environment depends on. */
export interface EnvironmentOptions {
  readonly sets: Sets;
  /** Whether `bot.by_ip` can be served; when false, reading it is a fault that says so. */
  readonly botByIp?: boolean;
}

/** The name under which the reference evaluator finds the header fields of `header(name)`. */
export const HEADERS_VARIABLE = "@headers";
/** What `header(name)` is called once it takes the header fields as an argument. */
export const HEADER_FUNCTION = "@header";

const BOT_FIELDS: readonly (readonly [string, Type])[] = [
  ["id", STRING],
  ["name", STRING],
  ["class", STRING],
  ["operator", STRING],
  ["claimed", BOOL],
  ["verified", BOOL],
  ["verification", STRING],
  ["verifiable", BOOL],
];

const REQUEST_FIELDS: readonly (readonly [string, Type])[] = [
  ...(["host", "method", "path", "raw_path", "query", "scheme", "ip", "user_agent"] as const).map(
    (name) => [name, STRING] as const,
  ),
  ["headers", mapOf(STRING, STRING)],
];

const SITE_FIELDS = (["id", "host", "mode"] as const).map((name) => [name, STRING] as const);
const LABEL_FIELDS = (["bot_id", "host", "path"] as const).map((name) => [name, STRING] as const);

/** The names, types and functions that the rules of one policy may use. */
export function createEnvironment(options: EnvironmentOptions): CelEnvironment {
  const byIp = options.botByIp === true ? ([["by_ip", listOf(STRING)]] as const) : [];
  const objects = [
    objectType("bot", [...BOT_FIELDS, ...byIp]),
    objectType("request", REQUEST_FIELDS),
    objectType("site", SITE_FIELDS),
    objectType("labels", LABEL_FIELDS),
    objectType(
      "sets",
      [...options.sets].map(([name, items]) => [name, setType(items)] as const),
    ),
  ];
  return {
    sets: options.sets,
    objects: new Map(objects.map((object) => [object.name, object])),
    celEnv: referenceEnvironment(),
  };
}

function objectType(name: string, fields: readonly (readonly [string, Type])[]): ObjectType {
  return { kind: "object", name, fields: new Map(fields) };
}

function setType(items: readonly string[] | readonly bigint[]): Type {
  const first = items[0];
  if (first === undefined) return listOf(UNKNOWN);
  return listOf(typeof first === "string" ? STRING : INT);
}

function referenceEnvironment(): CelEnv {
  const { BOOL: bool, STRING: string } = CelScalar;
  return celEnv({
    funcs: [
      ...strings,
      celFunc("pathUnder", [string, string], bool, pathUnder),
      celFunc("inCidr", [string, string], bool, inCidr),
      celFunc(HEADER_FUNCTION, [mapType(string, string), string], string, headerValue),
    ],
    re2: { compile: compilePattern },
  });
}

/** `header(name)`: in any case, and empty when the field is absent. */
function headerValue(headers: CelMap, name: string): string {
  const value = headers.get(name.toLowerCase());
  return typeof value === "string" ? value : "";
}
