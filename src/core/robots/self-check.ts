import { rulesFor } from "./agent.ts";
import { resolveCrawlDelay } from "./crawl-delay.ts";
import { type Crowd, crowdOf, NOBODY, ownersOf, sharesOf } from "./crowd.ts";
import { createDraft } from "./draft.ts";
import { escapePath } from "./escape.ts";
import type { GroupLines } from "./group-lines.ts";
import { createPathMatcher } from "./match.ts";
import type { Outlook, Outlooks } from "./outlook.ts";
import type { RobotsFile, RobotsRule } from "./parse.ts";
import { OTHER, type Point } from "./points.ts";
import { remember } from "./remember.ts";
import type { Group } from "./render.ts";

/** The group of a crawler with an outlook, what it was made of, and whether that excuses differences. */
export interface Checked {
  readonly outlook: Outlook;
  readonly made: GroupLines;
  readonly token: string;
}

/** A path, and the URLs that a crawler may ask for it by: without a query, and with one. */
interface Probe {
  readonly path: string;
  readonly urls: readonly string[];
}

/** About how many probes of a group are also judged in slow ways, which try every line or rule. */
const TRIED_PROBES = 50;

/**
 * Reads a written file as crawlers would, and compares it with enforcement. `groups` has one for each
 * outlook, in their order. Returns for each the URLs on which they differ where patterns with `*` may
 * make them differ; throws where nothing excuses it.
 */
export function differencesIn(
  file: RobotsFile,
  outlooks: Outlooks,
  groups: readonly Checked[],
): readonly (readonly string[])[] {
  const rulesOf = groups.map(({ token }) => rulesFor(file, [token]));
  const disallowed = readRules(rulesOf);
  const probesAround = createProbes(outlooks.areCaseless);
  const probesOf = groups.map(({ made }) => [...probesAround(made.points)]);
  const wrong = sharesOf(wrongUrls(probesOf, outlooks, disallowed), groups.length);
  return groups.map((group, index) => {
    const tried = sample(probesOf[index] ?? [], index);
    for (const { path } of tried) checkVerdict(group.outlook, path);
    const isDisallowed = (url: string) => (disallowed(url) & crowdOf(index)) !== NOBODY;
    checkReading(
      rulesOf[index] ?? [],
      isDisallowed,
      tried.flatMap(({ urls }) => urls),
    );
    return excused(group, wrong[index] ?? []);
  });
}

/** Evenly spread, and others for each number: groups that are much alike are tried all over. */
function sample(probes: readonly Probe[], number: number): readonly Probe[] {
  const step = Math.ceil(probes.length / TRIED_PROBES);
  return probes.filter((_, place) => (place + number) % step === 0);
}

/** Whom a file forbids a URL; one list of rules for each outlook. */
function readRules(rulesOf: readonly (readonly RobotsRule[])[]): (url: string) => Crowd {
  const draft = createDraft(new Set(rulesOf.flat().map(({ pattern }) => pattern)));
  for (const [index, rules] of rulesOf.entries()) {
    for (const { kind, pattern } of rules) draft.add({ kind, pattern }, crowdOf(index));
  }
  return draft.disallowed;
}

function* wrongUrls(
  probesOf: readonly (readonly Probe[])[],
  outlooks: Outlooks,
  disallowed: (url: string) => Crowd,
): Generator<readonly [url: string, Crowd]> {
  for (const [{ path, urls }, owners] of ownersOf(probesOf)) {
    const refused = outlooks.refused(path);
    for (const url of urls) yield [url, owners & (disallowed(url) ^ refused)];
  }
}

function excused({ made, token }: Checked, differing: readonly string[]): readonly string[] {
  const isExcused = made.isCut || made.approximate.length > 0 || made.differing.length > 0;
  if (differing.length > 0 && !isExcused) {
    throw new Error(`robots.txt and enforcement differ for ${token}: ${differing[0]}`);
  }
  return differing;
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

/** Throws where the matcher of the audit reads a group in another way. */
function checkReading(
  rules: readonly RobotsRule[],
  isDisallowed: (url: string) => boolean,
  urls: readonly string[],
): void {
  const matcher = createPathMatcher(rules);
  const other = urls.find((url) => matcher(url).allowed === isDisallowed(url));
  if (other !== undefined) throw new Error(`two readings of robots.txt differ: ${other}`);
}

/** Throws where a group's Crawl-delay, read back, is another than was meant: an error of ours. */
export function checkDelay(file: RobotsFile, { token, delaySeconds }: Group): void {
  const { outcome } = resolveCrawlDelay(file, { names: [token], fallback: "rfc9309" });
  const read = outcome.kind === "valid" ? outcome.seconds : undefined;
  if (read !== delaySeconds) {
    throw new Error(`robots.txt gives ${token} a Crawl-delay of ${read}, not ${delaySeconds}`);
  }
}

/**
 * Paths on and around every literal, in normal form, and in lower case where case does not count, as
 * a note on the file says; `/robots.txt` is always allowed. Each probe is made once.
 */
function createProbes(areCaseless: boolean): (points: readonly Point[]) => ReadonlySet<Probe> {
  const isSpoken = (path: string): boolean =>
    isNormal(path) && !(areCaseless && path !== path.toLowerCase());
  const probeFor = remember((path: string): Probe => {
    const target = escapePath(path);
    return { path, urls: [target, `${target}?q=1`] };
  });
  const around = remember(({ path }: Point): readonly Probe[] =>
    [path, `${path}x`, `${path}/x`, path.slice(0, -1)].filter(isSpoken).map(probeFor),
  );
  // What lies below a literal was looked at when its line was made.
  return (points) => {
    const literal = points.filter(({ path }) => !path.endsWith(OTHER));
    return new Set([...["/", "/zz-unmentioned"].map(probeFor), ...literal.flatMap(around)]);
  };
}

function isNormal(path: string): boolean {
  return path.startsWith("/") && path !== "/robots.txt" && !/\/\/|\/\.\.?(\/|$)|[;\\]/.test(path);
}
