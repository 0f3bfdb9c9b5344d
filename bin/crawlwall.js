#!/usr/bin/env node
// Plain JavaScript: it must be able to say that the Node it runs on is too old.
import { spawn } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [major = 0, minor = 0, patch = 0] = process.versions.node.split(".").map(Number);

/** Releases before these silently drop header fields of large requests (CVE-2026-58044). */
function keepsAllHeaders() {
  if (major === 24) return minor > 18 || (minor === 18 && patch >= 1);
  if (major === 26) return minor > 5 || (minor === 5 && patch >= 1);
  return major > 26;
}

/** The Node that `npm ci` put into a checkout, unless it is the one that runs; a package has none. */
function checkoutsNode() {
  const node = fileURLToPath(new URL("../node_modules/node/bin/node", import.meta.url));
  return existsSync(node) && realpathSync(node) !== process.execPath ? node : undefined;
}

/** Runs the same command on another Node, as if it had been called there. */
function runOn(node) {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: "inherit",
  });
  // A terminal interrupts both; what is sent to this process alone has to be passed on.
  process.on("SIGINT", () => {});
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code) => {
    process.exitCode = code ?? 1;
  });
}

if (keepsAllHeaders()) {
  const built = new URL("../dist/cli/main.js", import.meta.url);
  const source = new URL("../src/cli/main.ts", import.meta.url);
  // What is compiled, and in a checkout stripped of types, is kept where this folder may be written to.
  // Threads read the variable.
  const { enableCompileCache } = await import("node:module");
  process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL("../.cache/node", import.meta.url));
  enableCompileCache();
  const { main } = await import(existsSync(built) ? built.href : source.href);
  process.exitCode = await main(process.argv.slice(2));
} else if (checkoutsNode() !== undefined) {
  runOn(checkoutsNode());
} else {
  console.error(
    `crawlwall: Node.js ${process.versions.node} drops header fields of large requests; it needs 24.18.1 or later in line 24, 26.5.1 or later in line 26, or a newer line`,
  );
  process.exitCode = 2;
}
