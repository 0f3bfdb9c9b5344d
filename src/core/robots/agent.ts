import type { RobotsAgent, RobotsFile, RobotsGroup, RobotsRule } from "./parse.ts";

/** Which of a file's User-agent lines speak to a crawler. */
export type AgentScope =
  /** `name` is lower-case: one of the names the crawler answers to. */
  | { readonly kind: "named"; readonly name: string; readonly first: RobotsAgent }
  | { readonly kind: "wildcard"; readonly first: RobotsAgent };

/** Whether a User-agent line is for everybody: `*`, also with text after white space, as Google has it. */
function isWildcardAgent(agent: RobotsAgent): boolean {
  return /^\*(?:[ \t\v\f]|$)/.test(agent.value);
}

/**
 * Whether a User-agent line names a crawler: its whole value, or its leading product token, in any
 * case (RFC 9309 section 2.2.1). Digits and dots count as part of a token, since real ones have them.
 */
function isAgentNamed(agent: RobotsAgent, lowerName: string): boolean {
  if (lowerName === "") return false;
  const value = agent.value.toLowerCase();
  if (!value.startsWith(lowerName)) return false;
  if (value === lowerName) return true;
  return /^[a-z0-9_.-]*/.exec(value)?.[0] === lowerName;
}

/**
 * Finds whom to obey: the first of the crawler's names, in its own order of preference, that a line
 * of the file names; else `*`; else nobody. Specific groups and `*` are never mixed.
 */
export function chooseAgent(file: RobotsFile, names: readonly string[]): AgentScope | undefined {
  for (const name of names) {
    const lowerName = name.toLowerCase();
    if (lowerName === "*") continue;
    const first = findAgent(file, (agent) => isAgentNamed(agent, lowerName));
    if (first !== undefined) return { kind: "named", name: lowerName, first };
  }
  return wildcardScope(file);
}

/** The `*` groups of a file, or undefined when it has none. */
export function wildcardScope(file: RobotsFile): AgentScope | undefined {
  const first = findAgent(file, isWildcardAgent);
  return first === undefined ? undefined : { kind: "wildcard", first };
}

/** Whether a User-agent line belongs to a scope. */
export function isInScope(agent: RobotsAgent, scope: AgentScope): boolean {
  switch (scope.kind) {
    case "named":
      return isAgentNamed(agent, scope.name);
    case "wildcard":
      return isWildcardAgent(agent);
  }
}

/** The rules a crawler obeys: all groups that name it, merged in the order of the file. */
export function rulesFor(file: RobotsFile, names: readonly string[]): readonly RobotsRule[] {
  const scope = chooseAgent(file, names);
  if (scope === undefined) return [];
  return file.groups
    .filter((group) => group.agents.some((agent) => isInScope(agent, scope)))
    .flatMap((group) => group.rules);
}

function findAgent(
  file: RobotsFile,
  test: (agent: RobotsAgent) => boolean,
): RobotsAgent | undefined {
  return file.groups.flatMap((group: RobotsGroup) => group.agents).find(test);
}
