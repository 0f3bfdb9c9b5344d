import type { Logger } from "pino";
import { isEnforced, type Policy } from "../core/policy/policy.ts";
import { type GeneratedRobots, generateRobots } from "../core/robots/generate.ts";
import { writeRobotsFiles } from "../io/robots-files.ts";

/** The robots.txt files of the policies in force. */
export interface RobotsShelf {
  /**
   * Makes the files of a set of policies and keeps a copy for the proxy. Throws where a file, read
   * back, is not what is enforced: then nothing has changed.
   */
  adopt(policies: readonly Policy[]): void;
  /** The file of a host; undefined where the site's own file is served. */
  fileFor(policy: Policy, host: string): GeneratedRobots | undefined;
}

/** An empty shelf. `folder` is where the proxy looks when we do not answer. */
export function createRobotsShelf(folder: string, log: Logger): RobotsShelf {
  let files: ReadonlyMap<Policy, SiteFiles> = new Map();
  return {
    adopt: (policies) => {
      const served = policies.filter(isServed);
      const made = new Map(served.map((policy) => [policy, filesOf(policy)]));
      files = made;
      for (const [policy, site] of made) tell(policy, site, log);
      keepCopies(folder, made, log);
    },
    fileFor: (policy, host) => {
      const site = files.get(policy);
      return site?.byHost.get(host) ?? site?.others;
    },
  };
}

/** The files of one site, by host. */
export interface SiteFiles {
  readonly byHost: ReadonlyMap<string, GeneratedRobots>;
  /** Of hosts that a wildcard stands for. */
  readonly others: GeneratedRobots | undefined;
}

function isServed({ site, robots }: Policy): boolean {
  return robots.serve && (isEnforced(site) || robots.inShadow === "publish");
}

/**
 * One file for each exact host; where no rule reads the host they are all the same. Throws where a
 * file, read back, is not what is enforced.
 */
export function filesOf(policy: Policy): SiteFiles {
  const exact = policy.site.hosts.filter((host) => !host.startsWith("*"));
  const readsHost = policy.rules.some(({ when }) => {
    return when?.reads.has("request.host") === true || when?.reads.has("labels.host") === true;
  });
  const hasOthers = exact.length < policy.site.hosts.length || !readsHost;
  const others = hasOthers ? generateRobots(policy, undefined) : undefined;
  const byHost = new Map(
    exact.flatMap((host): readonly [string, GeneratedRobots][] => {
      const file = readsHost ? generateRobots(policy, host) : others;
      return file === undefined ? [] : [[host, file]];
    }),
  );
  return { byHost, others };
}

function tell(policy: Policy, { byHost, others }: SiteFiles, log: Logger): void {
  const site = policy.site.id;
  if (!isEnforced(policy.site)) {
    log.info({ site }, "robots.txt is published, though the site refuses nobody yet");
  }
  for (const file of new Set([...byHost.values(), others])) {
    for (const { ruleId, code, message, witness } of file?.notes ?? []) {
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
