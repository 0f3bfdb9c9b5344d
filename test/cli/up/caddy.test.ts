import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findCaddy, keepaliveFor } from "../../../src/cli/up/caddy.ts";
import { newCaddy, oldCaddy } from "../../support/programs.ts";

describe("the Caddy that `up` starts", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "crawlwall-find-"));
    mkdirSync(join(folder, "path"));
    mkdirSync(join(folder, "cache", "bin"), { recursive: true });
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const found = (): string | undefined =>
    findCaddy(`:/nowhere:${join(folder, "path")}`, join(folder, "cache"))?.version.join(".");

  it("is none where there is none", () => {
    expect(found()).toBeUndefined();
  });

  it("is the one on the PATH before those that were unpacked", () => {
    symlinkSync(newCaddy.path, join(folder, "cache", "bin", "caddy-2.11"));
    symlinkSync(oldCaddy.path, join(folder, "path", "caddy"));
    expect(found()).toBe("2.6.2");
  });

  it("is the newer one of those that were unpacked", () => {
    symlinkSync(oldCaddy.path, join(folder, "cache", "bin", "caddy-2.6"));
    expect(found()).toBe("2.6.2");
    symlinkSync(newCaddy.path, join(folder, "cache", "bin", "caddy-2.11"));
    expect(found()).toBe("2.11.7");
  });
});

describe("the check's connections", () => {
  it.each<[[number, number, number], string]>([
    [[2, 6, 2], "off"],
    [[2, 10, 9], "off"],
    [[2, 11, 4], "off"],
    [[2, 11, 5], "60s"],
    [[2, 12, 0], "60s"],
    [[3, 0, 0], "60s"],
    [[0, 0, 0], "off"],
  ])("on Caddy %j are kept: %s", (version, keepalive) => {
    expect(keepaliveFor({ path: "caddy", version })).toBe(keepalive);
  });
});
