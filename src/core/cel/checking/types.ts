/** The static type of a CEL expression. `unknown` fits everything: the element of `[]`, or a fault already told. */
export type Type =
  | { readonly kind: "bool" | "int" | "uint" | "double" | "string" | "unknown" }
  | { readonly kind: "list"; readonly element: Type }
  | { readonly kind: "map"; readonly key: Type; readonly value: Type }
  | ObjectType
  /** Stands for any one type within a signature. */
  | { readonly kind: "parameter"; readonly name: string };

/** One of the named inputs; not a value by itself, only its fields are. */
export interface ObjectType {
  readonly kind: "object";
  readonly name: string;
  readonly fields: ReadonlyMap<string, Type>;
}

export const BOOL: Type = { kind: "bool" };
export const INT: Type = { kind: "int" };
export const UINT: Type = { kind: "uint" };
export const DOUBLE: Type = { kind: "double" };
export const STRING: Type = { kind: "string" };
export const UNKNOWN: Type = { kind: "unknown" };

/** The type of a list of `element`. */
export function listOf(element: Type): Type {
  return { kind: "list", element };
}

/** The type of a map from `key` to `value`. */
export function mapOf(key: Type, value: Type): Type {
  return { kind: "map", key, value };
}

/** A type as a policy's author would say it: `list(string)`. */
export function typeName(type: Type): string {
  switch (type.kind) {
    case "list":
      return `list(${typeName(type.element)})`;
    case "map":
      return `map(${typeName(type.key)}, ${typeName(type.value)})`;
    case "object":
      return `\`${type.name}\``;
    case "parameter":
      return type.name;
    case "unknown":
      return "anything";
    case "bool":
    case "int":
    case "uint":
    case "double":
    case "string":
      return type.kind;
  }
}

/** What type parameters stand for, as far as it is known. */
export type TypeBindings = Map<string, Type>;

/** Whether `actual` fits `wanted`; binds the type parameters of `wanted`. */
export function fits(wanted: Type, actual: Type, bindings: TypeBindings): boolean {
  if (actual.kind === "object") return false;
  if (wanted.kind === "parameter") return bind(wanted.name, actual, bindings);
  return unify(wanted, actual, (left, right) => fits(left, right, bindings)) !== undefined;
}

/** The one type that two expressions share, or undefined; an unknown part takes the other's. */
export function commonType(left: Type, right: Type): Type | undefined {
  return unify(left, right, (one, other) => commonType(one, other) !== undefined);
}

/** A signature's type with what its parameters stand for. */
export function substitute(type: Type, bindings: TypeBindings): Type {
  switch (type.kind) {
    case "parameter":
      return bindings.get(type.name) ?? UNKNOWN;
    case "list":
      return listOf(substitute(type.element, bindings));
    case "map":
      return mapOf(substitute(type.key, bindings), substitute(type.value, bindings));
    case "object":
    case "unknown":
    case "bool":
    case "int":
    case "uint":
    case "double":
    case "string":
      return type;
  }
}

function bind(name: string, actual: Type, bindings: TypeBindings): boolean {
  const bound = bindings.get(name);
  const common = bound === undefined ? actual : commonType(bound, actual);
  if (common === undefined) return false;
  bindings.set(name, common);
  return true;
}

function unify(
  left: Type,
  right: Type,
  partsFit: (left: Type, right: Type) => boolean,
): Type | undefined {
  if (left.kind === "unknown") return right;
  if (right.kind === "unknown") return left;
  if (left.kind !== right.kind || left.kind === "object") return undefined;
  const parts = partsOf(left);
  const others = partsOf(right);
  if (!parts.every((part, index) => partsFit(part, others[index] ?? UNKNOWN))) return undefined;
  return parts.some((part) => part.kind === "unknown") ? right : left;
}

function partsOf(type: Type): readonly Type[] {
  if (type.kind === "list") return [type.element];
  return type.kind === "map" ? [type.key, type.value] : [];
}
