import { createSiteLookup, type SiteLookup } from "../core/policy/hosts.ts";
import type { Policy } from "../core/policy/policy.ts";
import type { LoadedPolicy } from "../load/loaded.ts";

/** The policies in force at this moment. */
export interface Sites {
  readonly all: () => readonly Policy[];
  /** Who speaks for a host. */
  find(host: string): Policy | undefined;
  /** Swaps the whole set; whoever listens is told before the first request sees it, and may refuse. */
  replace(loaded: readonly LoadedPolicy[]): void;
}

/** Holds a set of policies; `onChange` is called with each set, the first one included. */
export function createSites(
  first: readonly LoadedPolicy[],
  onChange: (loaded: readonly LoadedPolicy[]) => void,
): Sites {
  let current: readonly Policy[] = [];
  let lookup: SiteLookup<Policy> = () => undefined;
  const replace = (loaded: readonly LoadedPolicy[]): void => {
    onChange(loaded);
    const policies = loaded.map(({ policy }) => policy);
    current = policies;
    lookup = createSiteLookup(policies);
  };
  replace(first);
  return {
    all: () => current,
    find: (host) => lookup(host),
    replace,
  };
}
