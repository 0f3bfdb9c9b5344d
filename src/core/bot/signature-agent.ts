import { type Item, isInnerList, parseDictionary, parseItem, Token } from "structured-headers";

/** To whom a signature is attributed, by the covered part of `Signature-Agent`. */
export type SignatureAgent =
  | { readonly kind: "agent"; readonly origin: string }
  | {
      readonly kind: "bad";
      readonly fault:
        | "agent_missing"
        | "agent_uncovered"
        | "agent_malformed"
        | "agent_type_unsupported";
    };

const MALFORMED: SignatureAgent = { kind: "bad", fault: "agent_malformed" };

/**
 * Reads a `Signature-Agent` field in either shape: a dictionary of strings (`sig1="https://bot.example"`),
 * of which `key` names the covered member, or one bare string, as OpenAI sends it.
 */
export function readSignatureAgent(header: string, key: string | undefined): SignatureAgent {
  if (!header.trimStart().startsWith('"')) return readDictionary(header, key);
  const item = attempt(() => parseItem(header));
  // A key covers a member of a dictionary, and there is none.
  return item === undefined || key !== undefined ? MALFORMED : readMember(item);
}

function readDictionary(header: string, key: string | undefined): SignatureAgent {
  const members = attempt(() => parseDictionary(header));
  if (members === undefined || members.size === 0) return MALFORMED;
  const [only, ...others] = members.keys();
  const chosen = key ?? (others.length === 0 ? only : undefined);
  const member = chosen === undefined ? undefined : members.get(chosen);
  if (member === undefined) return { kind: "bad", fault: "agent_uncovered" };
  return isInnerList(member) ? MALFORMED : readMember(member);
}

function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}

/** Of the types of agents only directories are known; another must not be guessed at. */
function readMember([value, parameters]: Item): SignatureAgent {
  const type = parameters.get("type");
  const name = type instanceof Token ? type.toString() : type;
  if (name !== undefined && name !== "directory") {
    return { kind: "bad", fault: "agent_type_unsupported" };
  }
  if (typeof value !== "string") return MALFORMED;
  const origin = bareOrigin(value);
  return origin === undefined ? MALFORMED : { kind: "agent", origin };
}

/** The origin of a web address that says nothing else; undefined for any other text. */
export function bareOrigin(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) return undefined;
  return url.href === `${url.origin}/` && !text.includes("?") && !text.includes("#")
    ? url.origin
    : undefined;
}
