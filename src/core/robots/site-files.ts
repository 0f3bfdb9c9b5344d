import { isEnforced, type Policy } from "../policy/policy.ts";
import { type GeneratedRobots, generateRobots } from "./generate.ts";

/** The robots.txt files of one site, by host. */
export interface SiteFiles {
  readonly byHost: ReadonlyMap<string, GeneratedRobots>;
  /** Of hosts that a wildcard stands for. */
  readonly others: GeneratedRobots | undefined;
}

/**
 * One file for each exact host; where no rule reads the host they are all the same. Undefined where
 * the site's own file is served. Throws where a file, read back, is not what is enforced.
 */
export function siteFilesOf(policy: Policy): SiteFiles | undefined {
  if (!isServed(policy)) return undefined;
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

function isServed({ site, robots }: Policy): boolean {
  return robots.serve && (isEnforced(site) || robots.inShadow === "publish");
}
