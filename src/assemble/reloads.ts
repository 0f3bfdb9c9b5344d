import type { Logger } from "pino";
import type { Metrics } from "../io/metrics.ts";
import type { Loader } from "../load/thread.ts";
import type { Sites } from "./sites.ts";
import { StartError } from "./start-error.ts";

/** Takes changed policies into force. */
export interface Reloads {
  /** Reads every policy again, soon. The whole set is swapped, or none and the last good one stays. */
  request(): void;
  /** Resolves when no reload is under way any more. */
  settled(): Promise<void>;
}

export interface ReloadParts {
  readonly path: string;
  readonly loader: Loader;
  readonly sites: Sites;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** Requests that come during a reload are one further reload after it. */
export function createReloads(parts: ReloadParts): Reloads {
  let running: Promise<void> | undefined;
  let isAskedAgain = false;
  const run = async (): Promise<void> => {
    do {
      isAskedAgain = false;
      await reload(parts);
    } while (isAskedAgain);
    running = undefined;
  };
  return {
    request: () => {
      isAskedAgain = true;
      running ??= run();
    },
    settled: () => running ?? Promise.resolve(),
  };
}

async function reload({ path, loader, sites, metrics, log }: ReloadParts): Promise<void> {
  const loaded = await loader.load(path);
  const faults = loaded.kind === "faulty" ? loaded.faults : refusalOf(sites, loaded.policies, log);
  if (faults.length > 0) {
    metrics.reloadFailed();
    log.error({ faults }, "policies not reloaded: the last good set stays");
    return;
  }
  log.info({ policies: sites.all().map(({ site }) => site.id) }, "policies reloaded");
}

/** Why a set cannot be taken into force; nothing where it was. */
function refusalOf(
  sites: Sites,
  set: Parameters<Sites["replace"]>[0],
  log: Logger,
): readonly string[] {
  try {
    sites.replace(set);
    return [];
  } catch (error) {
    if (error instanceof StartError) return error.faults;
    // Whatever it is, it must not take along what still runs on the last good set.
    log.error({ err: error }, "policies could not be taken into force");
    return [error instanceof Error ? error.message : String(error)];
  }
}
