import { spawn, spawnSync } from "node:child_process";
import { linkSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { root } from "./support/programs.ts";

const bin = join(root, "bin", "crawlwall.js");
const PRETEND_20 = `--import=data:text/javascript,${encodeURIComponent(
  'Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.20.2"}})',
)}`;

/** Another Node than the checkout's: the same file under a name of its own. */
mkdirSync(join(root, ".cache"), { recursive: true });
const folder = mkdtempSync(join(root, ".cache", "other-node-"));
const otherNode = join(folder, "node");
linkSync(process.execPath, otherNode);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a checkout called from an older Node runs on the Node that it brought along", () => {
  const called = (...args: readonly string[]): ReturnType<typeof spawnSync> =>
    spawnSync(otherNode, [PRETEND_20, bin, ...args], { encoding: "utf8" });
  expect(called("version")).toMatchObject({ status: 0, stderr: "" });
  expect(called("bots", "show", "nobody-at-all").status).toBe(2);
});

test("where an older Node is all there is, it says which one is needed", () => {
  const packed = join(folder, "packed");
  mkdirSync(join(packed, "bin"), { recursive: true });
  writeFileSync(join(packed, "package.json"), '{"type":"module"}');
  linkSync(bin, join(packed, "bin", "crawlwall.js"));
  const run = spawnSync(otherNode, [PRETEND_20, join(packed, "bin", "crawlwall.js"), "version"], {
    encoding: "utf8",
  });
  expect(run.status).toBe(2);
  expect(run.stderr).toContain("24.18.1 or later");
});

test("stopping the older Node stops the service behind it", async () => {
  const data = join(folder, "data");
  const args = ["serve", "--listen", `unix:${join(folder, "s")}`, "--admin", "off"];
  const service = spawn(otherNode, [PRETEND_20, bin, ...args, "--data-dir", data], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise((resolve) => service.on("exit", (code) => resolve(code)));
  await new Promise<void>((resolve) => {
    service.stderr.on("data", (chunk: Buffer) => {
      if (chunk.includes("crawlwall answers")) resolve();
    });
  });
  service.kill("SIGTERM");
  expect(await ended).toBe(0);
}, 30_000);
