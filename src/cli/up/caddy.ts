import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** A Caddy on this machine. */
export interface Caddy {
  readonly path: string;
  readonly version: readonly [number, number, number];
}

/** Looks on the PATH, then for those that `npm run setup` has unpacked; undefined when there is none. */
export function findCaddy(searchPath: string, cache: string): Caddy | undefined {
  const onPath = searchPath
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, "caddy"));
  const unpacked = ["caddy-2.11", "caddy-2.6"].map((name) => join(cache, "bin", name));
  const path = [...onPath, ...unpacked].find(isProgram);
  return path === undefined ? undefined : { path, version: versionOf(path) };
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** 0.0.0 for a build that does not say: the most careful settings then apply. */
function versionOf(path: string): Caddy["version"] {
  const { stdout } = spawnSync(path, ["version"], { encoding: "utf8", timeout: 10_000 });
  const parts = /^v?(\d+)\.(\d+)\.(\d+)/.exec(stdout ?? "");
  return [Number(parts?.[1] ?? 0), Number(parts?.[2] ?? 0), Number(parts?.[3] ?? 0)];
}

/**
 * What the Caddyfile's `CRAWLWALL_KEEPALIVE` should be. Below 2.11.5 a check and a request to the
 * application can swap their addresses on kept connections, and the application's 200 is then
 * taken for an allow.
 */
export function keepaliveFor(caddy: Caddy): "off" | "60s" {
  const [major, minor, patch] = caddy.version;
  if (major !== 2) return major > 2 ? "60s" : "off";
  return minor > 11 || (minor === 11 && patch >= 5) ? "60s" : "off";
}

export interface CaddyRun {
  /** Resolves with its exit code or signal when it has ended, for whatever reason. */
  readonly ended: Promise<string>;
  /** The last lines of its log. */
  lastWords(): readonly string[];
  stop(): Promise<void>;
}

/** Starts Caddy with a Caddyfile; resolves when it serves. Rejects with its last words when it does not. */
export async function runCaddy(
  caddy: Caddy,
  caddyfile: string,
  env: Readonly<Record<string, string>>,
): Promise<CaddyRun> {
  const child = spawn(caddy.path, ["run", "--config", caddyfile, "--adapter", "caddyfile"], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const lines: string[] = [];
  const serving = new Promise<true>((resolve) => {
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      lines.push(...text.trimEnd().split("\n"));
      lines.splice(0, lines.length - 20);
      if (text.includes("serving initial configuration")) resolve(true);
    });
  });
  const ended = endOf(child);
  const first = await Promise.race([serving, ended]);
  if (first !== true) throw new Error(`Caddy ended with ${first}: ${lines.at(-1) ?? "no words"}`);
  return { ended, lastWords: () => lines, stop: () => stop(child, ended) };
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve(signal ?? `code ${code}`));
    child.once("error", (error) => resolve(error.message));
  });
}

/** SIGTERM lets Caddy finish what it is answering; it gets 3 s for that. */
async function stop(child: ChildProcess, ended: Promise<string>): Promise<void> {
  const hammer = setTimeout(() => child.kill("SIGKILL"), 3_000);
  child.kill("SIGTERM");
  await ended;
  clearTimeout(hammer);
}
