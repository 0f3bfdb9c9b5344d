import { rulesFor } from "./agent.ts";
import { resolveCrawlDelay } from "./crawl-delay.ts";
import { createDrafts, type Draft } from "./draft.ts";
import { escapePath } from "./escape.ts";
import type { GroupLines } from "./group-lines.ts";
import { createPathMatcher } from "./match.ts";
import type { Outlook } from "./outlook.ts";
import type { RobotsFile } from "./parse.ts";
import { OTHER, type Point } from "./points.ts";
import { remember } from "./remember.ts";
import type { Group } from "./render.ts";

/** A crawler's group, what it was made of, and whether its notes announce differences. */
export interface Checked {
  readonly outlook: Outlook;
  readonly made: GroupLines;
  readonly group: Group;
}

/** How many probes are also judged in slow ways: by trying every line, and every rule. */
const MAX_TRIED = 100;

/**
 * Reads a written file as a crawler would, to compare it with enforcement. The check returns the
 * URLs on which they differ where patterns with `*` may make them differ; it throws where nothing
 * excuses it.
 */
export function createSelfCheck(file: RobotsFile): (checked: Checked) => readonly string[] {
  const patterns = file.groups.flatMap(({ rules }) => rules.map(({ pattern }) => pattern));
  const newDraft = createDrafts(patterns);
  const probesAround = createProbes();
  return ({ outlook, made, group }) => {
    const isDisallowed = readGroup(file, group.token, newDraft());
    const differing = [...probesAround(made.points)].flatMap(({ path, urls }, index) => {
      if (index < MAX_TRIED) checkVerdict(outlook, path);
      const isBlocked = outlook.isBlocked(path);
      return urls.filter((url) => isDisallowed(url, index) !== isBlocked);
    });
    const isExcused = made.isCut || made.approximate.length > 0 || made.differing.length > 0;
    if (differing.length > 0 && !isExcused) {
      throw new Error(`robots.txt and enforcement differ for ${group.token}: ${differing[0]}`);
    }
    return differing;
  };
}

/** Throws where a rule that surely decides is not the one that enforcement selects. */
function checkVerdict(outlook: Outlook, path: string): void {
  const [only, another] = outlook.deciders(path);
  if (only === undefined || another !== undefined) return;
  const { id } = outlook.enforced(path);
  if (id !== only.id) {
    throw new Error(`robots.txt sees rule ${only.id} at ${path}, and enforcement ${id}`);
  }
}

/** What the file says to a crawler; the first probes are asked of two implementations. */
function readGroup(
  file: RobotsFile,
  token: string,
  draft: Draft,
): (url: string, index: number) => boolean {
  const rules = rulesFor(file, [token]);
  for (const { kind, pattern } of rules) draft.add({ kind, pattern });
  const matcher = createPathMatcher(rules);
  return (url, index) => {
    const isDisallowed = draft.decide(url)?.kind === "disallow";
    if (index < MAX_TRIED && matcher(url).allowed === isDisallowed) {
      throw new Error(`two readings of robots.txt differ for ${token}: ${url}`);
    }
    return isDisallowed;
  };
}

/** Throws where a group's Crawl-delay, read back, is another than was meant: an error of ours. */
export function checkDelay(file: RobotsFile, { token, delaySeconds }: Group): void {
  const { outcome } = resolveCrawlDelay(file, { names: [token], fallback: "rfc9309" });
  const read = outcome.kind === "valid" ? outcome.seconds : undefined;
  if (read !== delaySeconds) {
    throw new Error(`robots.txt gives ${token} a Crawl-delay of ${read}, not ${delaySeconds}`);
  }
}

/** A path, and the URLs that a crawler may ask for it by: without a query, and with one. */
interface Probe {
  readonly path: string;
  readonly urls: readonly string[];
}

/** Paths on and around every literal, in normal form; `/robots.txt` is always allowed. */
function createProbes(): (points: readonly Point[]) => ReadonlySet<Probe> {
  const probeFor = remember((path: string): Probe => {
    const target = escapePath(path);
    return { path, urls: [target, `${target}?q=1`] };
  });
  const around = remember(({ path }: Point): readonly Probe[] =>
    [path, `${path}x`, `${path}/x`, path.slice(0, -1)].filter(isNormal).map(probeFor),
  );
  return (points) => {
    const probes = new Set(["/", "/zz-unmentioned"].map(probeFor));
    for (const point of points) {
      // What lies below a literal was looked at when its line was made.
      if (point.path.endsWith(OTHER)) continue;
      for (const probe of around(point)) probes.add(probe);
    }
    return probes;
  };
}

function isNormal(path: string): boolean {
  return path.startsWith("/") && path !== "/robots.txt" && !/\/\/|\/\.\.?(\/|$)|[;\\]/.test(path);
}
