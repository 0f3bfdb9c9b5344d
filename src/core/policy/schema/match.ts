import type { UserAgentMatch } from "../../bot/bot.ts";

/** How a document writes what a bot is known by. */
export interface WrittenMatch {
  readonly user_agents: readonly string[];
  readonly exact: readonly string[];
  readonly anchored: readonly string[];
  readonly must_not: readonly string[];
}

/** What a policy or a catalog writes, as a bot holds it. */
export function toMatch(written: WrittenMatch): UserAgentMatch {
  return {
    userAgents: written.user_agents,
    exact: written.exact,
    anchored: written.anchored,
    mustNot: written.must_not,
  };
}
