import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { root } from "../support/programs.ts";

it("names every flag of `crawlwall serve`, with its default, and no other", () => {
  const help = spawnSync(process.execPath, [`${root}bin/crawlwall.js`, "serve", "--help"], {
    encoding: "utf8",
  }).stdout;
  const flags = [...help.matchAll(/^ +(--[a-z-]+)/gm)].map(([, name]) => name).sort();
  const page = readFileSync(`${root}docs/operations.md`, "utf8");
  const named = [...page.matchAll(/^\| `(--[a-z-]+)/gm)].map(([, name]) => name).sort();
  expect(flags.length).toBeGreaterThan(10);
  expect(named).toEqual(flags);
  const defaults = [
    ...help.matchAll(/^ +(--[a-z-]+)(?:(?!\n +--)[\s\S])*?\(default:\s+"([^"]*)"/gm),
  ];
  expect(defaults.length).toBeGreaterThan(5);
  for (const [, name, value] of defaults) {
    const row = page.split("\n").find((line) => line.startsWith(`| \`${name} `)) ?? "";
    expect(row).toContain(`\`${value}\``);
  }
});
