import { parseSelector, select } from "./json-selector.ts";

/** The shapes of address documents that an operator can name in `format`. */
export const ADDRESS_FORMATS = ["prefixes", "list", "text", "geofeed", "markdown"] as const;

export type AddressFormat = (typeof ADDRESS_FORMATS)[number];

/** The shape of a source that names none: that of Google, OpenAI, Microsoft and most others. */
export const DEFAULT_ADDRESS_FORMAT: AddressFormat = "prefixes";

/** What stands in a document where addresses are expected, not judged yet. */
export type AddressDocument =
  | {
      readonly kind: "document";
      /** Texts that should be addresses or CIDR blocks. */
      readonly entries: readonly string[];
      /** Members of the right place and the wrong type. */
      readonly ignored: number;
    }
  | { readonly kind: "unreadable"; readonly reason: string };

/** Documents with more entries are refused whole. */
const MAX_ENTRIES = 200_000;

/**
 * Takes the address texts out of a document of a declared shape, and out of nowhere else: a resolver's
 * address in a `contact` field, or a list of removed prefixes, is not an address of the crawler.
 */
export function parseAddressDocument(
  text: string,
  format: AddressFormat,
  pointer: string | undefined,
): AddressDocument {
  const body = text.startsWith("\u{feff}") ? text.slice(1) : text;
  if (/^\s*<(?:!doctype|html|head|\?xml)/i.test(body.slice(0, 512))) {
    return unreadable("is an HTML or XML page");
  }
  const document = readAs(body, format, pointer);
  if (document.kind === "unreadable") return document;
  if (document.entries.length > MAX_ENTRIES) {
    return unreadable(`has more than ${MAX_ENTRIES} entries`);
  }
  return document.entries.length === 0 ? unreadable("holds no entry") : document;
}

function readAs(body: string, format: AddressFormat, pointer: string | undefined): AddressDocument {
  switch (format) {
    case "prefixes":
      return withJson(body, (json) => readPrefixes(json, pointer));
    case "list":
      return withJson(body, (json) => readList(json, pointer));
    case "text":
      return readLines(body, (line) => withoutComment(line));
    case "geofeed":
      return readLines(body, (line) => withoutComment(line).split(",", 1)[0] ?? "");
    case "markdown":
      return readLines(body, (line) => /^\s*[-*+] +`?([0-9a-f.:/]+)`?\s*$/i.exec(line)?.[1] ?? "");
  }
}

function withJson(body: string, read: (json: unknown) => AddressDocument): AddressDocument {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return unreadable("is not JSON");
  }
  return read(json);
}

function readLines(body: string, take: (line: string) => string): AddressDocument {
  const taken = body.split(/\r\n|\n|\r/).map((line) => clean(take(line)));
  return { kind: "document", entries: taken.filter((entry) => entry !== ""), ignored: 0 };
}

function withoutComment(line: string): string {
  const hash = line.indexOf("#");
  return hash < 0 ? line : line.slice(0, hash);
}

/** `pointer` leads to the members; without it they are those of `prefixes` and `ipv6_prefixes`. */
function readPrefixes(json: unknown, pointer: string | undefined): AddressDocument {
  if (pointer !== undefined) return fromPointer(json, pointer, (found) => prefixEntries(found));
  if (!isRecord(json) || !Array.isArray(json.prefixes)) {
    return unreadable("has no list `prefixes`; a source of another shape needs `format`");
  }
  const version = json.formatVersion;
  if (version !== undefined && !/^1(?:\.|$)/.test(String(version))) {
    return unreadable(`has format version \`${String(version)}\`; 1 is known`);
  }
  const more = json.ipv6_prefixes;
  const members: readonly unknown[] = [...json.prefixes, ...(Array.isArray(more) ? more : [])];
  const services = new Set(
    members.filter(isRecord).flatMap(({ service }) => (service === undefined ? [] : [service])),
  );
  if (services.size > 1) {
    return unreadable(
      "lists several services; choose with `pointer`, such as `/prefixes/[service=NAME]`",
    );
  }
  return prefixEntries(members);
}

const PREFIX_KEYS = ["ipv4Prefix", "ipv6Prefix", "ip_prefix", "ipv6_prefix"];

/** Each member says one prefix; a member that says none or two is ignored (draft JAFAR). */
function prefixEntries(members: readonly unknown[]): AddressDocument {
  const entries: string[] = [];
  let ignored = 0;
  for (const member of members) {
    const values = isRecord(member)
      ? PREFIX_KEYS.filter((key) => Object.hasOwn(member, key)).map((key) => member[key])
      : [];
    const [value] = values;
    if (values.length === 1 && typeof value === "string") entries.push(clean(value));
    else ignored += 1;
  }
  return { kind: "document", entries, ignored };
}

/** Texts, or lists of texts, where `pointer` leads; without it the document is the list. */
function readList(json: unknown, pointer: string | undefined): AddressDocument {
  return fromPointer(json, pointer ?? "", (found) => {
    const entries: string[] = [];
    let ignored = 0;
    for (const value of found.flatMap((each) => (Array.isArray(each) ? each : [each]))) {
      if (typeof value !== "string") ignored += 1;
      // Sites without IPv6 write an empty text.
      else if (clean(value) !== "") entries.push(clean(value));
    }
    return { kind: "document", entries, ignored };
  });
}

function fromPointer(
  json: unknown,
  pointer: string,
  read: (found: readonly unknown[]) => AddressDocument,
): AddressDocument {
  const selector = parseSelector(pointer);
  if (selector.kind === "bad") return unreadable(`cannot be read: \`pointer\` ${selector.reason}`);
  const found = select(json, selector.steps);
  return found.length === 0 ? unreadable(`has nothing at \`${pointer}\``) : read(found);
}

/** Published lists hold zero-width spaces, byte order marks and blanks around their addresses. */
function clean(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Z}]/gu, "");
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function unreadable(reason: string): AddressDocument {
  return { kind: "unreadable", reason };
}
