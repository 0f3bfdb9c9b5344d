import { type AgentScope, chooseAgent, isInScope, wildcardScope } from "./agent.ts";
import { type DelayFault, isFractional, parseDelayValue } from "./delay-value.ts";
import type { DelayNearMiss, DelayScope, DelayToken, FileWarning, RobotsFile } from "./parse.ts";

/** Whose Crawl-delay is asked for. */
export interface DelayAgent {
  /** Product tokens in the crawler's order of preference; `*` for everybody. */
  readonly names: readonly [string, ...string[]];
  /**
   * `rfc9309`: `*` counts only where no group names the crawler. `directive`: also where such a group
   * has no Crawl-delay line, as Bing documents for itself.
   */
  readonly fallback: "rfc9309" | "directive";
}

/** Codes of what is worth a look and fails nothing. */
export type DelayWarning =
  | FileWarning
  | "DUPLICATE_CRAWL_DELAY"
  | "FRACTIONAL"
  | "ABOVE_30"
  | "ABOVE_300"
  | "ORPHAN_CRAWL_DELAY";

/** What a file says of an agent's delay. The token is the one that decided. */
export type DelayOutcome =
  | { readonly kind: "valid"; readonly token: DelayToken; readonly seconds: number }
  | { readonly kind: "invalid"; readonly token: DelayToken; readonly fault: DelayFault }
  | { readonly kind: "malformed"; readonly token: DelayNearMiss }
  /** The file's only Crawl-delay stands before any User-agent line. */
  | { readonly kind: "orphan"; readonly token: DelayToken }
  | { readonly kind: "missing" };

export interface DelayResolution {
  /** The value of the User-agent line that applies, as written; undefined when none does. */
  readonly effectiveAgent: string | undefined;
  readonly outcome: DelayOutcome;
  /** In alphabetical order, each once. */
  readonly warnings: readonly DelayWarning[];
}

/**
 * The Crawl-delay that a file gives an agent. Groups are merged whatever their order; of several
 * values the smallest valid one counts, which is what an owner may expect of every crawler.
 */
export function resolveCrawlDelay(file: RobotsFile, agent: DelayAgent): DelayResolution {
  const bound = bind(file, agent);
  const outcome = decide(file, bound);
  return {
    effectiveAgent: bound.scope?.kind === "wildcard" ? "*" : bound.scope?.first.value,
    outcome,
    warnings: [
      ...new Set([...fileWarnings(file, outcome), ...valueWarnings(bound, outcome)]),
    ].sort(),
  };
}

interface Bound {
  readonly scope: AgentScope | undefined;
  readonly tokens: readonly DelayToken[];
  readonly nearMisses: readonly DelayNearMiss[];
}

function bind(file: RobotsFile, agent: DelayAgent): Bound {
  const chosen = collect(file, chooseAgent(file, agent.names));
  if (agent.fallback === "rfc9309" || chosen.tokens.length > 0) return chosen;
  const everybody = collect(file, wildcardScope(file));
  return everybody.tokens.length > 0 ? everybody : chosen;
}

function collect(file: RobotsFile, scope: AgentScope | undefined): Bound {
  if (scope === undefined) return { scope, tokens: [], nearMisses: [] };
  const found = file.scopes.flatMap((delays) => {
    const first = firstInScope(delays, scope);
    return first === -1 ? [] : [{ delays, first }];
  });
  return {
    scope,
    tokens: found.flatMap(({ delays }) => delays.tokens),
    nearMisses: found.flatMap(({ delays, first }) =>
      delays.nearMisses.filter((miss) => miss.agentCount > first),
    ),
  };
}

function firstInScope(delays: DelayScope, scope: AgentScope): number {
  // Most scopes of a large file hold no delay at all.
  if (delays.tokens.length === 0 && delays.nearMisses.length === 0) return -1;
  return delays.agents.findIndex((agent) => isInScope(agent, scope));
}

function decide(file: RobotsFile, bound: Bound): DelayOutcome {
  let best: DelayOutcome | undefined;
  for (const token of bound.tokens) {
    const value = parseDelayValue(token.raw);
    if (value.kind === "invalid") {
      best ??= { kind: "invalid", token, fault: value.fault };
    } else if (best?.kind !== "valid" || value.seconds < best.seconds) {
      best = { kind: "valid", token, seconds: value.seconds };
    }
  }
  if (best !== undefined) return best;
  const [miss] = bound.nearMisses;
  if (miss !== undefined) return { kind: "malformed", token: miss };
  const [orphan] = file.orphans;
  return orphan === undefined ? { kind: "missing" } : { kind: "orphan", token: orphan };
}

/** What the file was forgiven, save the very line that the outcome already names. */
function* fileWarnings(file: RobotsFile, outcome: DelayOutcome): Generator<DelayWarning> {
  for (const [code, line] of file.warnings) {
    if (outcome.kind !== "malformed" || outcome.token.line !== line) yield code;
  }
  if (file.orphans.length > 0 && outcome.kind !== "orphan") yield "ORPHAN_CRAWL_DELAY";
}

function* valueWarnings(bound: Bound, outcome: DelayOutcome): Generator<DelayWarning> {
  if (bound.tokens.length > 1) yield "DUPLICATE_CRAWL_DELAY";
  if (outcome.kind !== "valid") return;
  if (isFractional(outcome.token.raw)) yield "FRACTIONAL";
  if (outcome.seconds > 300) yield "ABOVE_300";
  else if (outcome.seconds > 30) yield "ABOVE_30";
}
