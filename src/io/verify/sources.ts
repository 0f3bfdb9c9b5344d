import type { Policy } from "../../core/policy/policy.ts";
import { type KeySource, openKeySource } from "./key-source.ts";
import type { ListOrigin } from "./list-origin.ts";
import { type ListSource, openListSource } from "./list-source.ts";
import type { ListStore } from "./list-store.ts";
import type { VerifyLog } from "./log.ts";
import { createPlan, type Plan, type SourceFinder } from "./plan.ts";

/** Every list and key directory that the policies in use name, each opened once. */
export interface Sources {
  /** Makes the plans of these policies; closes what none of them names any more. */
  plan(policies: readonly Policy[]): readonly Plan[];
  /** Settles when each source was read or tried once. Never rejects. */
  tried(): Promise<void>;
  close(): void;
}

export interface SourcesOptions {
  readonly store: ListStore;
  readonly allowInsecure: boolean;
  readonly reading: "when_due" | "when_missing";
  readonly log: VerifyLog;
}

interface State {
  readonly options: SourcesOptions;
  readonly lists: Map<string, ListSource>;
  readonly keys: Map<string, KeySource>;
}

export function openSources(options: SourcesOptions): Sources {
  const state: State = { options, lists: new Map(), keys: new Map() };
  const all = (): readonly (ListSource | KeySource)[] => [
    ...state.lists.values(),
    ...state.keys.values(),
  ];
  return {
    plan: (policies) => plan(state, policies),
    tried: async () => {
      await Promise.all(all().map((source) => source.tried));
    },
    close: () => {
      for (const source of all()) source.stop();
    },
  };
}

function plan(state: State, policies: readonly Policy[]): readonly Plan[] {
  const refreshes = new Map<string, number>();
  const directories = new Set<string>();
  const find: SourceFinder = {
    list: (origin, refreshMs) => {
      refreshes.set(origin.key, Math.min(refreshMs, refreshes.get(origin.key) ?? refreshMs));
      return findList(state, origin, refreshMs);
    },
    keys: (origin) => {
      directories.add(origin);
      return findKeys(state, origin);
    },
  };
  const plans = policies.flatMap((policy) =>
    policy.bots.filter((bot) => !bot.isDefault).map((bot) => createPlan(policy, bot, find)),
  );
  closeUnused(state.lists, (key) => refreshes.has(key));
  closeUnused(state.keys, (origin) => directories.has(origin));
  for (const [key, refreshMs] of refreshes) state.lists.get(key)?.setRefresh(refreshMs);
  return plans;
}

function findList(state: State, origin: ListOrigin, refreshMs: number): ListSource {
  const known = state.lists.get(origin.key);
  if (known !== undefined) return known;
  const source = openListSource({ ...state.options, origin, refreshMs });
  state.lists.set(origin.key, source);
  return source;
}

function findKeys(state: State, origin: string): KeySource {
  const known = state.keys.get(origin);
  if (known !== undefined) return known;
  const source = openKeySource({ ...state.options, origin });
  state.keys.set(origin, source);
  return source;
}

function closeUnused<T extends { stop(): void }>(
  open: Map<string, T>,
  isUsed: (key: string) => boolean,
): void {
  for (const [key, source] of open) {
    if (isUsed(key)) continue;
    source.stop();
    open.delete(key);
  }
}
