import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { oldCaddy, root } from "../support/programs.ts";

interface Run {
  readonly status: number | null;
  readonly lines: readonly string[];
}

function run(args: readonly string[], path: string): Run {
  const result = spawnSync(process.execPath, args, { encoding: "utf8", env: { PATH: path } });
  const lines = (result.stdout + result.stderr).split("\n").filter((line) => line !== "");
  return { status: result.status, lines };
}

const postgresql = "/usr/lib/postgresql";
const hasPostgres = existsSync(postgresql) && readdirSync(postgresql).length > 0;

describe("setting up a checkout", () => {
  let checkout: string;
  let programs: string;
  beforeEach(() => {
    checkout = mkdtempSync(join(tmpdir(), "crawlwall-checkout-"));
    programs = join(checkout, "programs");
    mkdirSync(programs);
    cpSync(join(root, "scripts"), join(checkout, "scripts"), { recursive: true });
    const lock = JSON.stringify({ packages: { "": {}, "node_modules/a": { version: "1.0.0" } } });
    writeFileSync(join(checkout, "package-lock.json"), lock);
    mkdirSync(join(checkout, "node_modules"));
    writeFileSync(join(checkout, "node_modules", ".package-lock.json"), lock);
  });
  afterEach(() => rmSync(checkout, { recursive: true, force: true }));

  const setUp = (...args: readonly string[]): Run =>
    run([join(checkout, "scripts", "setup.mjs"), ...args], programs);
  const addProgram = (name: string, script: string): void => {
    writeFileSync(join(programs, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(programs, name), 0o755);
  };

  it("does and says nothing where nothing is missing", () => {
    symlinkSync(oldCaddy.path, join(programs, "caddy"));
    expect(setUp()).toEqual({ status: 0, lines: [] });
  });

  it("says in one line how to get Caddy where it cannot be had, and lets the sidecar start", () => {
    const { status, lines } = setUp();
    expect(status).toBe(0);
    const last = lines.filter((line) => !line.includes("fetching"));
    expect(last).toEqual([
      expect.stringMatching(/^setup: caddy is missing.*put caddy on the PATH/),
    ]);
  });

  it("fails where a program of the tests cannot be had, and names the cause", () => {
    addProgram("python3", "echo 'no network here' >&2; exit 1");
    const { status, lines } = setUp("--test");
    expect(status).toBe(2);
    expect(lines).toContainEqual(expect.stringMatching(/caddy-2\.11 is missing.*no network here/));
    expect(lines).toContainEqual(expect.stringMatching(/caddy-2\.6 is missing/));
    expect(lines).toContainEqual(expect.stringMatching(/nsd is missing/));
  });

  it.skipIf(hasPostgres)(
    "says which tests are skipped where PostgreSQL cannot be had, and goes on",
    () => {
      mkdirSync(join(checkout, ".cache"));
      symlinkSync(join(root, ".cache", "bin"), join(checkout, ".cache", "bin"));
      const { status, lines } = setUp("--test");
      expect(status).toBe(0);
      expect(lines).toContainEqual(
        expect.stringMatching(
          /postgresql is missing.*the ledger's tests on PostgreSQL are skipped/,
        ),
      );
    },
  );

  it.each([
    ["are not there", undefined],
    ["are of another version", { "node_modules/a": { version: "0.9.0" } }],
    ["lack one", {}],
  ])("installs the packages where they %s", (_, packages) => {
    const installed = join(checkout, "node_modules", ".package-lock.json");
    if (packages === undefined) rmSync(join(checkout, "node_modules"), { recursive: true });
    else writeFileSync(installed, JSON.stringify({ packages }));
    addProgram("npm", `echo "$@" > ${join(checkout, "called")}`);
    symlinkSync(oldCaddy.path, join(programs, "caddy"));
    expect(setUp().status).toBe(0);
    expect(readFileSync(join(checkout, "called"), "utf8")).toContain("ci ");
  });

  it("stops where the packages cannot be installed", () => {
    rmSync(join(checkout, "node_modules"), { recursive: true });
    addProgram("npm", "exit 1");
    expect(setUp().status).toBe(2);
    expect(existsSync(join(checkout, ".cache"))).toBe(false);
  });
});

describe("the command on another Node", () => {
  const versionOn = (node: string): Run => {
    const pretend = `Object.defineProperty(process,"versions",{value:{...process.versions,node:"${node}"}})`;
    const args = [`--import=data:text/javascript,${encodeURIComponent(pretend)}`];
    return run([...args, join(root, "bin", "crawlwall.js"), "version"], "");
  };

  it.each(["20.20.2", "22.23.5", "24.18.0", "25.9.0", "26.5.0"])(
    "refuses %s, which drops header fields",
    (node) => {
      const { status, lines } = versionOn(node);
      expect(status).toBe(2);
      expect(lines).toEqual([expect.stringContaining(`Node.js ${node} drops header fields`)]);
    },
  );

  it.each(["24.18.1", "24.19.0", "26.5.1", "26.10.0", "27.0.0"])("runs on %s", (node) => {
    expect(versionOn(node).status).toBe(0);
  });
});
