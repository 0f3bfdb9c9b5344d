import { rulesFor } from "./agent.ts";
import { resolveCrawlDelay } from "./crawl-delay.ts";
import { createDraft } from "./draft.ts";
import { escapePath } from "./escape.ts";
import type { GroupLines } from "./group-lines.ts";
import { createPathMatcher } from "./match.ts";
import type { Outlook } from "./outlook.ts";
import type { RobotsFile } from "./parse.ts";
import { OTHER } from "./points.ts";
import type { Group } from "./render.ts";

/** A crawler's group, what it was made of, and whether its notes announce differences. */
export interface Checked {
  readonly outlook: Outlook;
  readonly made: GroupLines;
  readonly group: Group;
}

/** How many probes are also judged by the matcher of the audit, which tries every line. */
const MAX_MATCHED = 100;

/**
 * Reads a written file as a crawler would, and compares it with enforcement. Returns the paths on
 * which they differ where patterns with `*` may make them differ; throws where nothing excuses it.
 */
export function differencesIn(file: RobotsFile, checked: Checked): readonly string[] {
  const { outlook, made, group } = checked;
  const isDisallowed = readGroup(file, group.token);
  const differing = probesOf(made).flatMap((path, index) => {
    const isBlocked = outlook.isBlocked(path);
    const target = escapePath(path);
    return [target, `${target}?q=1`].filter((url) => isDisallowed(url, index) !== isBlocked);
  });
  const isExcused = made.isCut || made.approximate.length > 0 || made.differing.length > 0;
  if (differing.length > 0 && !isExcused) {
    throw new Error(`robots.txt and enforcement differ for ${group.token}: ${differing[0]}`);
  }
  return differing;
}

/** What the file says to a crawler; the first probes are asked of two implementations. */
function readGroup(file: RobotsFile, token: string): (url: string, index: number) => boolean {
  const rules = rulesFor(file, [token]);
  const draft = createDraft();
  for (const { kind, pattern } of rules) draft.add({ kind, pattern });
  const matcher = createPathMatcher(rules);
  return (url, index) => {
    const isDisallowed = draft.decide(url)?.kind === "disallow";
    if (index < MAX_MATCHED && matcher(url).allowed === isDisallowed) {
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

/** Paths on and around every literal, in normal form; `/robots.txt` is always allowed. */
function probesOf({ points }: GroupLines): readonly string[] {
  const probes = new Set(["/", "/zz-unmentioned"]);
  for (const { path } of points) {
    // What lies below a literal was looked at when its line was made.
    if (path.endsWith(OTHER)) continue;
    for (const probe of [path, `${path}x`, `${path}/x`, path.slice(0, -1)]) {
      if (isNormal(probe)) probes.add(probe);
    }
  }
  return [...probes];
}

function isNormal(path: string): boolean {
  return path.startsWith("/") && path !== "/robots.txt" && !/\/\/|\/\.\.?(\/|$)|[;\\]/.test(path);
}
