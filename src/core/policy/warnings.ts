import type { Bot } from "../bot/bot.ts";
import type { UnguardedAccess } from "../cel/check.ts";
import type { Policy, Rule } from "./policy.ts";

/** Something to say about one part of a policy; the path is below the document's root. */
export interface Notice {
  readonly code: string;
  readonly path: readonly (string | number)[];
  readonly message: string;
  /** Within the condition at the path, where the notice is about a part of it. */
  readonly place: { readonly line: number; readonly column: number } | undefined;
}

/** Header fields that the shipped Caddyfile keeps from us, because of what a client could do with them. */
const WITHHELD: ReadonlySet<string> = new Set([
  "accept-encoding",
  "authorization",
  "cf-connecting-ip",
  "connection",
  "cookie",
  "expect",
  "forwarded",
  "http2-settings",
  "range",
  "true-client-ip",
  "upgrade",
  "x-real-ip",
  "x-request-id",
]);

const WITHHELD_PREFIXES = ["if-", "x-forwarded-", "x-original-", "x-rewrite-"];

/** Whether a header field of the client's never reaches a rule behind the shipped Caddyfile. */
function isWithheld(name: string): boolean {
  return (
    WITHHELD.has(name) ||
    WITHHELD_PREFIXES.some((prefix) => name.startsWith(prefix)) ||
    /[_.]|crawlwall/.test(name)
  );
}

const HEADER_PREFIX = "request.headers.";

/** One rule of the file, with its index there. */
export interface IndexedRule {
  readonly index: number;
  readonly rule: Rule;
}

/** One bot of the file, with the index of the entry that it came from. */
export interface IndexedBot {
  readonly index: number;
  readonly bot: Bot;
}

/** What deserves a look in a policy that loads. */
export function noticesOf(
  policy: Pick<Policy, "receipts">,
  bots: readonly IndexedBot[],
  rules: readonly IndexedRule[],
): readonly Notice[] {
  return [
    ...bots.flatMap(insecureSources),
    ...tiedPriorities(rules),
    ...disabledReceipts(policy, rules),
    ...rules.flatMap(({ index, rule }) => [
      ...withheldHeaders(index, rule),
      ...mayFault(index, rule),
    ]),
  ];
}

function insecureSources({ index, bot }: IndexedBot): readonly Notice[] {
  return bot.verifiers
    .flatMap((verifier) => (verifier.kind === "ip_ranges" ? verifier.sources : []))
    .flatMap((source) => (source.kind === "url" ? [source.url] : []))
    .filter((url) => url.startsWith("http:"))
    .map((url) => {
      const message = `\`${url}\` is read with \`--insecure-sources\` alone: whoever is on the way could verify anybody; write \`https://\``;
      return notice("insecure_source", ["bots", index, "verify"], message);
    });
}

function tiedPriorities(rules: readonly IndexedRule[]): readonly Notice[] {
  const first = new Map<number, IndexedRule>();
  return rules.flatMap((indexed) => {
    const { priority } = indexed.rule;
    if (priority === undefined) return [];
    const earlier = first.get(priority);
    if (earlier === undefined) {
      first.set(priority, indexed);
      return [];
    }
    const message = `\`${priority}\` is the priority of \`${earlier.rule.id}\` too, which runs first; give each rule its own`;
    return [notice("tied_priority", ["rules", indexed.index, "priority"], message)];
  });
}

function disabledReceipts(
  policy: Pick<Policy, "receipts">,
  rules: readonly IndexedRule[],
): readonly Notice[] {
  if (policy.receipts.enabled) return [];
  return rules
    .filter(({ rule }) => rule.receipt)
    .map(({ index }) => {
      const message = "asks for a receipt while `receipts.enabled` is `false`; none is made";
      return notice("receipts_disabled", ["rules", index, "audit", "receipt"], message);
    });
}

function withheldHeaders(index: number, rule: Rule): readonly Notice[] {
  const read = [...(rule.when?.reads ?? [])]
    .filter((input) => input.startsWith(HEADER_PREFIX))
    .map((input) => input.slice(HEADER_PREFIX.length))
    .filter(isWithheld)
    .map((name) => notice("header_withheld", ["rules", index, "when"], withheldMessage(name)));
  const { action } = rule;
  if (action.kind !== "rate_limit" || action.limit.key.kind !== "header") return read;
  const { name } = action.limit.key;
  if (!isWithheld(name)) return read;
  const path = ["rules", index, "action", "limit", "key"];
  return [...read, notice("header_withheld", path, withheldMessage(name))];
}

function withheldMessage(name: string): string {
  return `the shipped Caddyfile keeps the header \`${name}\` from CrawlWall: here it is always absent`;
}

function mayFault(index: number, rule: Rule): readonly Notice[] {
  return (rule.when?.unguarded ?? []).map((access) => ({
    ...notice("may_fault", ["rules", index, "when"], unguardedMessage(access)),
    place: access,
  }));
}

function unguardedMessage({ access, key }: UnguardedAccess): string {
  const advice =
    key === undefined ? "test for the key with `in` first" : `write \`header("${key}")\``;
  return `\`${access}\` has no value when the header is absent, and the rule then does not match; ${advice}`;
}

function notice(code: string, path: readonly (string | number)[], message: string): Notice {
  return { code, path, message, place: undefined };
}
