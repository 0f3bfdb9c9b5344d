import { isVerifiable } from "../bot/bot.ts";
import { findFallible } from "../cel/fallible.ts";
import { foreignReason, innerTerms } from "../cel/foreign.ts";
import type { Term, TextTerm } from "../cel/term.ts";
import { testedField } from "../cel/text-term.ts";
import { lowerRules } from "./evaluate.ts";
import type { LimitField, Policy, Rule } from "./policy.ts";
import type { LoweredRule } from "./rule-list.ts";
import {
  type Client,
  type ClientClass,
  classifyClients,
  isAlwaysTrue,
  type Standing,
} from "./standings.ts";

/** What a finding is about. */
export type LintSubject =
  | {
      readonly kind: "rule";
      readonly ruleId: string;
      readonly part: "when" | "limit_key" | "action";
    }
  | { readonly kind: "bot"; readonly botId: string }
  | { readonly kind: "set"; readonly name: string };

/** Something that loads, and is probably not what was meant. */
export interface LintFinding {
  /** Stable. */
  readonly code: string;
  readonly subject: LintSubject;
  /** Starts small, no full stop, the remedy after `;`. */
  readonly message: string;
}

/**
 * Finds what is probably not meant in a policy. Exact where it says "never" or "always": it asks the
 * lists that enforcement runs. Makes the list of every bot and outcome, which takes a second or two
 * for a thousand rules and hundreds of bots: for `policy check`, not for serving.
 */
export function lintPolicy(policy: Policy): readonly LintFinding[] {
  const rules = lowerRules(policy);
  const classes = classifyClients(policy, rules);
  return [
    ...policy.rules.flatMap((rule) => lintRule(rule, classes)),
    ...rules.flatMap((rule) => [...pathLiterals(rule), ...fallibleParts(rule), ...slowParts(rule)]),
    ...unreachableBots(policy),
    ...unusedSets(policy),
  ];
}

/** A rule as it stands for some clients. */
interface Stand {
  readonly clients: readonly Client[];
  readonly standing: Standing;
}

function lintRule(rule: Rule, classes: readonly ClientClass[]): readonly LintFinding[] {
  const stands = classes.flatMap(({ clients, standings }) =>
    standings
      .filter((standing) => standing.rule === rule)
      .map((standing): Stand => ({ clients, standing })),
  );
  const open = stands.filter(({ standing }) => standing.coveredBy === undefined);
  if (open.length === 0) return [deadRule(rule, stands)];
  return [
    ...limitKey(rule, open),
    ...refusedSearch(rule, open),
    ...blockedUnverifiable(rule, open),
    ...stallingDns(rule, open, classes),
  ];
}

function finding(code: string, subject: LintSubject, message: string): LintFinding {
  return { code, subject, message };
}

function deadRule(rule: Rule, stands: readonly Stand[]): LintFinding {
  const subject = { kind: "rule", ruleId: rule.id, part: "when" } as const;
  if (stands.length === 0) {
    const message =
      "is false for every bot of this policy and every outcome of verification; correct it or remove the rule";
    return finding("dead_rule", subject, message);
  }
  const names = stands.flatMap(({ standing }) => standing.coveredBy?.id ?? []);
  const message = `never decides, since ${quote(names)} decides whenever this would; give it a lower priority or remove it`;
  return finding("covered_rule", subject, message);
}

/** Distinct words in backticks, the first few of them. */
function quote(words: readonly string[]): string {
  const distinct = [...new Set(words)];
  const shown = distinct.slice(0, 5).map((word) => `\`${word}\``);
  const rest = distinct.length - shown.length;
  return rest > 0 ? `${shown.join(", ")} and ${rest} more` : shown.join(", ");
}

/** Inputs that a client writes as it likes, so that each value has a bucket of its own. */
const CLIENT_CHOSEN: ReadonlySet<LimitField> = new Set([
  "request.method",
  "request.path",
  "request.raw_path",
  "request.query",
  "request.user_agent",
  "labels.path",
]);

function limitKey(rule: Rule, stands: readonly Stand[]): readonly LintFinding[] {
  if (rule.action.kind !== "rate_limit") return [];
  const { key } = rule.action.limit;
  const subject = { kind: "rule", ruleId: rule.id, part: "limit_key" } as const;
  if (key.kind === "header" || CLIENT_CHOSEN.has(key.field)) {
    const name = key.kind === "header" ? `request.headers.${key.name}` : key.field;
    const message = `\`${name}\` is what the client writes: another value has another bucket; use \`request.ip\`, or \`bot.id\` where \`bot.verified\``;
    return [finding("client_chosen_limit_key", subject, message)];
  }
  if (!key.field.startsWith("bot.") && key.field !== "labels.bot_id") return [];
  const claims = clientsOf(stands).filter((client) => client.verification !== "verified");
  if (claims.length === 0) return [];
  const names = quote(claims.map(({ bot }) => bot.id));
  const message = `\`${key.field}\` is claimed without proof by clients as ${names}, and anyone can empty that bucket; require \`bot.verified\` or use \`request.ip\``;
  return [finding("unverified_limit_key", subject, message)];
}

function clientsOf(stands: readonly Stand[]): readonly Client[] {
  return stands.flatMap(({ clients }) => clients);
}

/** Search engines take 402 and 403 for "this page is gone". */
function refusedSearch(rule: Rule, stands: readonly Stand[]): readonly LintFinding[] {
  if (rule.action.kind !== "block" || ![402, 403].includes(rule.action.status)) return [];
  const isAboutBots = [...(rule.when?.reads ?? [])].some((input) => input.startsWith("bot."));
  const refused = clientsOf(
    stands.filter(({ standing }) => isAboutBots || isAlwaysTrue(standing)),
  ).filter(({ bot, verification }) => bot.class === "search" && verification === "verified");
  if (refused.length === 0) return [];
  const names = quote(refused.map(({ bot }) => bot.id));
  const message = `answers ${rule.action.status} to the verified search crawlers ${names}, which drop such pages; exclude \`bot.class == "search"\`, or limit the rate`;
  return [
    finding("search_crawler_refused", { kind: "rule", ruleId: rule.id, part: "action" }, message),
  ];
}

function blockedUnverifiable(rule: Rule, stands: readonly Stand[]): readonly LintFinding[] {
  if (rule.action.kind !== "block" || !readsProof(rule)) return [];
  const hit = clientsOf(stands).filter(({ bot }) => !bot.isDefault && !isVerifiable(bot));
  if (hit.length === 0) return [];
  const names = quote(hit.map(({ bot }) => bot.id));
  const message = `blocks ${names}, which nobody can verify, the genuine ones too; add \`bot.verifiable &&\`, or give the bot a \`verify\``;
  return [
    finding("unverifiable_bot_blocked", { kind: "rule", ruleId: rule.id, part: "when" }, message),
  ];
}

function readsProof(rule: Rule): boolean {
  const reads = rule.when?.reads;
  return reads?.has("bot.verified") === true || reads?.has("bot.verification") === true;
}

/** A rule against refuted clients, where nothing is done about those whose check does not end. */
function stallingDns(
  rule: Rule,
  stands: readonly Stand[],
  classes: readonly ClientClass[],
): readonly LintFinding[] {
  if (rule.action.kind !== "block" || rule.when?.reads.has("bot.verification") !== true) return [];
  const refuted = clientsOf(stands).filter((client) => client.verification === "refuted");
  const spared = refuted.filter(({ bot }) => !isRefused(bot.id, "unavailable", classes));
  const stalling = spared.filter(({ bot }) =>
    bot.verifiers.some((verifier) => verifier.kind !== "static_ranges"),
  );
  if (stalling.length === 0) return [];
  const names = quote(stalling.map(({ bot }) => bot.id));
  const message = `no rule blocks ${names} when verification is \`unavailable\`, which a spoofer's own DNS can bring about; write \`bot.verifiable && !bot.verified\``;
  return [finding("refuted_only", { kind: "rule", ruleId: rule.id, part: "when" }, message)];
}

/** Whether some rule about proof blocks these clients. */
function isRefused(
  botId: string,
  verification: Client["verification"],
  classes: readonly ClientClass[],
): boolean {
  return classes.some(
    ({ clients, standings }) =>
      clients.some((client) => client.bot.id === botId && client.verification === verification) &&
      standings.some(({ rule }) => rule.action.kind === "block" && readsProof(rule)),
  );
}

/** Texts that are compared with a path and cannot be one: every path starts with a slash. */
function pathLiterals({ rule, condition }: LoweredRule): readonly LintFinding[] {
  const wrong = textTerms(condition)
    .filter((term) => ["path", "raw_path"].includes(testedField(term) ?? ""))
    .flatMap(({ exact, prefixes }) => [
      ...exact.filter((text) => !text.startsWith("/") && !prefixes.includes(`${text}/`)),
      ...prefixes.filter((text) => text !== "" && !text.startsWith("/")),
    ]);
  if (wrong.length === 0) return [];
  const message = `${quote(wrong)} can never match a path, which starts with \`/\`; write \`/${wrong[0]}\``;
  return [finding("impossible_path", { kind: "rule", ruleId: rule.id, part: "when" }, message)];
}

/** Parts that end in an error for some requests; a rule with an error does not match. */
function fallibleParts({ rule, condition }: LoweredRule): readonly LintFinding[] {
  return findFallible(condition).map((phrase) => {
    const message = `${phrase} is an error, and the rule then does not match; test the value first, with \`&&\``;
    return finding("may_fault", { kind: "rule", ruleId: rule.id, part: "when" }, message);
  });
}

/** Parts that could not be folded. */
function slowParts({ rule, condition }: LoweredRule): readonly LintFinding[] {
  const reason = foreignReason(condition);
  if (reason === undefined) return [];
  const message = `${reason} with values of the request is left to the reference evaluator, a hundred times slower; write a list, or \`==\` and \`||\``;
  return [finding("not_specialised", { kind: "rule", ruleId: rule.id, part: "when" }, message)];
}

function textTerms(term: Term): readonly TextTerm[] {
  const inner = innerTerms(term).flatMap(textTerms);
  return term.kind === "text" ? [term, ...inner] : inner;
}

/** Bots whose own tokens are taken for those of another. */
function unreachableBots(policy: Policy): readonly LintFinding[] {
  return policy.bots
    .filter((bot) => !bot.isDefault)
    .flatMap((bot) => {
      const { userAgents, exact, anchored } = bot.match;
      const samples = [...userAgents, ...exact, ...anchored];
      const found = samples.map((sample) => policy.identify(sample));
      if (found.length === 0 || found.some(({ id }) => id === bot.id)) return [];
      const names = quote(found.map(({ id }) => id));
      const message = `is never identified: its tokens are taken for ${names}; change \`match\` or remove the bot`;
      return [finding("unreachable_bot", { kind: "bot", botId: bot.id }, message)];
    });
}

function unusedSets(policy: Policy): readonly LintFinding[] {
  const read = new Set(policy.rules.flatMap((rule) => [...(rule.when?.reads ?? [])]));
  return [...policy.sets.keys()]
    .filter((name) => !read.has(`sets.${name}`))
    .map((name) =>
      finding("unused_set", { kind: "set", name }, "no rule reads this set; remove it"),
    );
}
