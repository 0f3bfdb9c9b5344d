import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createRobotsShelf, type RobotsShelf } from "../../src/assemble/robots.ts";
import type { Policy } from "../../src/core/policy/policy.ts";
import { completeLoading } from "../../src/load/loaded.ts";
import { policyFrom } from "../support/compile.ts";

let folder: string;
let lines: string[];
let shelf: RobotsShelf;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "crawlwall-shelf-"));
  lines = [];
  const log = pino({ level: "info" }, { write: (line: string) => lines.push(line) });
  shelf = createRobotsShelf(join(folder, "robots"), log);
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function site(hosts: string, robots: string, rest = "mode: enforce"): Policy {
  return policyFrom(`site: { id: s, hosts: ${hosts}, ${rest} }
robots: ${robots}
rules:
  - { id: a, priority: 1, when: 'request.path.startsWith("/a")', action: { type: block, reason: no } }
  - { id: b, priority: 2, when: 'request.host == "one.test"', action: { type: block, reason: no } }
`);
}

function kept(): readonly string[] {
  return readdirSync(join(folder, "robots")).toSorted();
}

test("each exact host has a file of its own, and others that of the wildcard", () => {
  const policy = site('[one.test, two.test, "*.three.test"]', "{ serve: true }");
  shelf.adopt([policy].map(completeLoading));
  expect(shelf.fileFor(policy, "one.test")?.body).toContain("Disallow: /\n");
  expect(shelf.fileFor(policy, "two.test")?.body).toContain("Disallow: /a\n");
  expect(shelf.fileFor(policy, "x.three.test")?.body).toContain("Disallow: /a\n");
  expect(kept()).toEqual(["one.test.txt", "two.test.txt"]);
});

test("the proxy can read the copies, and they are what is served", () => {
  const policy = site("[one.test]", "{ serve: true }");
  shelf.adopt([policy].map(completeLoading));
  const copy = join(folder, "robots", "one.test.txt");
  expect(readFileSync(copy, "utf8")).toBe(shelf.fileFor(policy, "one.test")?.body);
  expect(statSync(copy).mode & 0o777).toBe(0o644);
  expect(statSync(join(folder, "robots")).mode & 0o777).toBe(0o755);
});

test("copies go when serving goes off", () => {
  shelf.adopt([site("[one.test, two.test]", "{ serve: true }")].map(completeLoading));
  const off = site("[one.test]", "{ serve: false }");
  shelf.adopt([off].map(completeLoading));
  expect(shelf.fileFor(off, "one.test")).toBeUndefined();
  expect(kept()).toEqual([]);
});

test("a site in shadow publishes, and says so in the log; or hands on where it is told to", () => {
  const published = site("[one.test]", "{ serve: true }", "mode: shadow");
  shelf.adopt([published].map(completeLoading));
  expect(shelf.fileFor(published, "one.test")?.body).toContain("none of this is enforced yet");
  expect(lines.join("")).toContain("though the site refuses nobody yet");
  const passing = site("[one.test]", "{ serve: true, in_shadow: pass }", "mode: shadow");
  shelf.adopt([passing].map(completeLoading));
  expect(shelf.fileFor(passing, "one.test")).toBeUndefined();
});

test("what a file leaves out is in the log, once, with the rule", () => {
  shelf.adopt([site('["*.one.test", "*.two.test"]', "{ serve: true }")].map(completeLoading));
  const told = lines.map((line) => JSON.parse(line)).filter(({ rule_id }) => rule_id === "b");
  expect(told).toHaveLength(1);
  expect(told[0]).toMatchObject({ site: "s", code: "unseen_input", witness: expect.any(String) });
});

test("a folder that cannot be written is told, and the files are served", () => {
  const log = pino({}, { write: (line: string) => lines.push(line) });
  const occupied = join(folder, "file");
  writeFileSync(occupied, "");
  const elsewhere = createRobotsShelf(join(occupied, "robots"), log);
  const policy = site("[one.test]", "{ serve: true }");
  elsewhere.adopt([policy].map(completeLoading));
  expect(lines.join("")).toContain("--robots-dir");
  expect(elsewhere.fileFor(policy, "one.test")?.body).toContain("Disallow: /\n");
});
