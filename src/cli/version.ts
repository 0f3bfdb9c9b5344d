import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { EXIT, runCommand } from "./exit.ts";

/** The version of this package, from its package.json. */
export function packageVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  const manifest: unknown = JSON.parse(text);
  const version =
    typeof manifest === "object" && manifest !== null && "version" in manifest
      ? manifest.version
      : undefined;
  if (typeof version !== "string") throw new Error("package.json names no version");
  return version;
}

/** `crawlwall version` */
export function registerVersion(program: Command): void {
  program
    .command("version")
    .description("print the version of crawlwall and of Node")
    .action(() =>
      runCommand(() => {
        process.stdout.write(`crawlwall ${packageVersion()} (Node ${process.versions.node})\n`);
        return EXIT.fine;
      }),
    );
}
