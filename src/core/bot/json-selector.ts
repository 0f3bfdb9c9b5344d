/** One step into a JSON document. */
export type SelectorStep =
  | { readonly kind: "member"; readonly name: string }
  /** Every member of an object or element of a list. */
  | { readonly kind: "all" }
  /** Every element that is an object with this text under this key. */
  | { readonly kind: "where"; readonly key: string; readonly value: string };

export type SelectorResult =
  | { readonly kind: "selector"; readonly steps: readonly SelectorStep[] }
  | { readonly kind: "bad"; readonly reason: string };

const MAX_STEPS = 16;

/**
 * Reads a JSON pointer (RFC 6901) in which a segment may also be `*` (every member) or `[key=value]`
 * (every element whose `key` is that text): `/prefixes/[service=ROUTE53_HEALTHCHECKS]`.
 */
export function parseSelector(text: string): SelectorResult {
  if (text === "") return { kind: "selector", steps: [] };
  if (!text.startsWith("/")) return { kind: "bad", reason: "must start with `/`" };
  const segments = text.slice(1).split("/");
  if (segments.length > MAX_STEPS) return { kind: "bad", reason: `has over ${MAX_STEPS} steps` };
  return { kind: "selector", steps: segments.map(parseStep) };
}

function parseStep(segment: string): SelectorStep {
  if (segment === "*") return { kind: "all" };
  const filter = /^\[([^=\]]+)=([^\]]*)\]$/.exec(segment);
  if (filter !== null) return { kind: "where", key: filter[1] ?? "", value: filter[2] ?? "" };
  return { kind: "member", name: segment.replaceAll("~1", "/").replaceAll("~0", "~") };
}

/** Every value to which the steps lead; members that are not there lead nowhere. */
export function select(document: unknown, steps: readonly SelectorStep[]): readonly unknown[] {
  let found: readonly unknown[] = [document];
  for (const step of steps) found = found.flatMap((value) => enter(value, step));
  return found;
}

function enter(value: unknown, step: SelectorStep): readonly unknown[] {
  if (typeof value !== "object" || value === null) return [];
  switch (step.kind) {
    case "all":
      return Object.values(value);
    case "where":
      return Object.values(value).filter((each) => memberOf(each, step.key) === step.value);
    case "member":
      return Object.hasOwn(value, step.name) ? [memberOf(value, step.name)] : [];
  }
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return Object.getOwnPropertyDescriptor(value, name)?.value;
}
