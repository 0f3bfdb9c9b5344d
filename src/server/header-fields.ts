import type { HeaderFields } from "../core/request.ts";

/** What never is a rule's input: of the hop, of the proxy, or ours (contract 4, `request.headers`). */
function isWithheld(name: string): boolean {
  return (
    name === "connection" ||
    name === "x-request-id" ||
    name.startsWith("x-forwarded-") ||
    name.startsWith("x-crawlwall-")
  );
}

/**
 * The fields of a request, from Node's flat list of names and values. Nothing is copied before a rule
 * asks: most decisions read no header at all.
 */
export function createHeaderFields(rawHeaders: readonly string[]): HeaderFields {
  return new RawHeaderFields(rawHeaders);
}

// A class, so that the fields of a request cost one small object and no closures.
class RawHeaderFields implements HeaderFields {
  readonly #raw: readonly string[];
  #all: ReadonlyMap<string, string> | undefined;

  constructor(raw: readonly string[]) {
    this.#raw = raw;
  }

  get(name: string): string | undefined {
    return this.all().get(name);
  }

  all(): ReadonlyMap<string, string> {
    this.#all ??= joinFields(this.#raw);
    return this.#all;
  }
}

/** Repeats are joined with a comma (RFC 9110, 5.3), cookies with a semicolon (RFC 6265, 5.4). */
function joinFields(raw: readonly string[]): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = (raw[index] ?? "").toLowerCase();
    if (isWithheld(name)) continue;
    const value = decodeFieldValue(raw[index + 1] ?? "");
    const earlier = fields.get(name);
    const separator = name === "cookie" ? "; " : ", ";
    fields.set(name, earlier === undefined ? value : `${earlier}${separator}${value}`);
  }
  return fields;
}

/**
 * A field value as text. Node hands over each byte as one character; bytes that are valid UTF-8 are
 * read as such, since that is what clients mean; others stay one character a byte. Never throws.
 */
export function decodeFieldValue(value: string): string {
  for (let index = 0; index < value.length; index += 1) {
    if (value.charCodeAt(index) >= 0x80) return decodeBytes(value);
  }
  return value;
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decodeBytes(value: string): string {
  try {
    return UTF8.decode(Buffer.from(value, "latin1"));
  } catch {
    return value;
  }
}
