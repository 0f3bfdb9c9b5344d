import { type CelList, celList } from "@bufbuild/cel";
import type { Sets } from "../policy/policy.ts";
import {
  BOOL,
  INT,
  listOf,
  mapOf,
  type ObjectType,
  STRING,
  type Type,
  UNKNOWN,
} from "./checking/types.ts";

/** What the rules of one policy may name. */
export interface CelEnvironment {
  readonly sets: Sets;
  /** `bot`, `request`, `site`, `labels`, `sets`, with their fields. */
  readonly objects: ReadonlyMap<string, ObjectType>;
  /** The sets as values of CEL: the same object whenever a set is read. */
  readonly setLists: ReadonlyMap<string, CelList>;
}

/** What an environment depends on. */
export interface EnvironmentOptions {
  readonly sets: Sets;
}

const BOT_FIELDS: readonly (readonly [string, Type])[] = [
  ["id", STRING],
  ["name", STRING],
  ["class", STRING],
  ["operator", STRING],
  ["claimed", BOOL],
  ["verified", BOOL],
  ["verification", STRING],
  ["verifiable", BOOL],
  ["by_ip", listOf(STRING)],
];

const REQUEST_FIELDS: readonly (readonly [string, Type])[] = [
  ...(["host", "method", "path", "raw_path", "query", "scheme", "ip", "user_agent"] as const).map(
    (name) => [name, STRING] as const,
  ),
  ["headers", mapOf(STRING, STRING)],
];

const SITE_FIELDS = (["id", "host", "mode"] as const).map((name) => [name, STRING] as const);
const LABEL_FIELDS = (["bot_id", "host", "path"] as const).map((name) => [name, STRING] as const);

/** The names that the rules of one policy may use, with their types. */
export function createEnvironment(options: EnvironmentOptions): CelEnvironment {
  const objects = [
    objectType("bot", BOT_FIELDS),
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
    setLists: new Map([...options.sets].map(([name, items]) => [name, celList(items)])),
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
