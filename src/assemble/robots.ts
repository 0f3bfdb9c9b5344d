import type { Logger } from "pino";
import { isEnforced, type Policy } from "../core/policy/policy.ts";
import type { GeneratedRobots } from "../core/robots/generate.ts";
import type { SiteFiles } from "../core/robots/site-files.ts";
import { writeRobotsFiles } from "../io/robots-files.ts";
import type { LoadedPolicy } from "../load/loaded.ts";

/** The robots.txt files of the policies in force. */
export interface RobotsShelf {
  /** Takes the files of a set of policies and keeps a copy for the proxy. */
  adopt(loaded: readonly LoadedPolicy[]): void;
  /** The file of a host; undefined where the site's own file is served. */
  fileFor(policy: Policy, host: string): GeneratedRobots | undefined;
}

/** An empty shelf. `folder` is where the proxy looks when we do not answer. */
export function createRobotsShelf(folder: string, log: Logger): RobotsShelf {
  let files: ReadonlyMap<Policy, SiteFiles> = new Map();
  return {
    adopt: (loaded) => {
      files = new Map(
        loaded.flatMap(({ policy, robots }): readonly [Policy, SiteFiles][] =>
          robots === undefined ? [] : [[policy, robots]],
        ),
      );
      for (const [policy, site] of files) tell(policy, site, log);
      keepCopies(folder, files, log);
    },
    fileFor: (policy, host) => {
      const site = files.get(policy);
      return site?.byHost.get(host) ?? site?.others;
    },
  };
}

function tell(policy: Policy, { byHost, others }: SiteFiles, log: Logger): void {
  const site = policy.site.id;
  if (!isEnforced(policy.site)) {
    log.info({ site }, "robots.txt is published, though the site refuses nobody yet");
  }
  const told = new Set<string>();
  for (const file of [...byHost.values(), others]) {
    for (const { ruleId, code, message, witness } of file?.notes ?? []) {
      // What holds for every file is in the documentation.
      if (ruleId === "" || told.has(ruleId + code)) continue;
      told.add(ruleId + code);
      log.info({ site, rule_id: ruleId, code, witness }, `robots.txt: ${message}`);
    }
  }
}

function keepCopies(folder: string, files: ReadonlyMap<Policy, SiteFiles>, log: Logger): void {
  const bodies = new Map<string, string>();
  for (const { byHost } of files.values()) {
    for (const [host, { body }] of byHost) bodies.set(host, body);
  }
  try {
    writeRobotsFiles(folder, bodies);
  } catch (error) {
    log.warn({ err: error }, "robots.txt is not kept for the proxy: --robots-dir");
  }
}
