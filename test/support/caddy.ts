import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { type RunningProgram, startProgram } from "./program.ts";
import { type CaddyProgram, root } from "./programs.ts";
import { waitFor } from "./wait.ts";

export interface CaddyOptions {
  readonly caddy: CaddyProgram;
  /** Path below the top of the checkout, or absolute; the edge Caddyfile by default. */
  readonly file?: string;
  /** The sidecar's address as Caddy dials it. */
  readonly sidecar: string;
  /** Port of the application. */
  readonly backend: number;
  /** Host names it serves, over plain HTTP. */
  readonly hosts: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface RunningCaddy {
  readonly port: number;
  readonly process: RunningProgram;
  stop(): Promise<void>;
}

/** Starts Caddy on a free port of 127.0.0.1 with a shipped Caddyfile. */
export async function startCaddy(options: CaddyOptions): Promise<RunningCaddy> {
  const port = await freePort();
  return startCaddyfile(options.caddy, options.file ?? "Caddyfile", port, {
    CRAWLWALL_HTTP_PORT: String(port),
    CRAWLWALL_HTTPS_PORT: String(await freePort()),
    CRAWLWALL_SITE: options.hosts.map((host) => `http://${host}`).join(", "),
    CRAWLWALL_SIDECAR: options.sidecar,
    CRAWLWALL_BACKEND: `127.0.0.1:${options.backend}`,
    CRAWLWALL_KEEPALIVE: options.caddy.keepalive,
    ...options.env,
  });
}

/** Starts Caddy with any Caddyfile that listens on `port`; resolves when it does. */
export async function startCaddyfile(
  caddy: CaddyProgram,
  file: string,
  port: number,
  env: Readonly<Record<string, string>> = {},
): Promise<RunningCaddy> {
  const home = mkdtempSync(join(tmpdir(), "crawlwall-caddy-"));
  const args = ["run", "--config", file, "--adapter", "caddyfile"];
  const program = startProgram(caddy.path, args, {
    cwd: root,
    env: {
      CRAWLWALL_BIND: "127.0.0.1",
      CRAWLWALL_CADDY_ADMIN: "off",
      XDG_CONFIG_HOME: home,
      XDG_DATA_HOME: home,
      ...env,
    },
  });
  const stop = async (): Promise<void> => {
    await program.stop();
    rmSync(home, { recursive: true, force: true });
  };
  try {
    await waitFor(`${caddy.name} to serve`, () => isServing(program));
  } catch (cause) {
    await stop();
    throw new Error(`${caddy.name} did not start:\n${program.output()}`, { cause });
  }
  return { port, process: program, stop };
}

function isServing(program: RunningProgram): true | undefined {
  if (program.child.exitCode !== null) throw new Error("it ended");
  return program.output().includes("serving initial configuration") ? true : undefined;
}
