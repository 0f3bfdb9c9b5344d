import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../../test/support/free-port.ts";
import { startProgram } from "../../test/support/program.ts";
import { root } from "../../test/support/programs.ts";
import { waitFor } from "../../test/support/wait.ts";

/** A server of a contender, in a process of its own on 127.0.0.1. */
export interface Server {
  readonly port: number;
  readonly processId: number | undefined;
  stop(): Promise<void>;
}

/** A script of this folder that takes a port and prints `listening`. */
export async function startScript(name: string): Promise<Server> {
  const port = await freePort();
  const script = fileURLToPath(new URL(name, import.meta.url));
  const program = startProgram(process.execPath, [script, String(port)]);
  await waitFor(`${name} to listen`, () =>
    program.stdout().includes("listening") ? true : undefined,
  );
  return { port, processId: program.child.pid, stop: program.stop };
}

/**
 * CrawlWall as it is shipped: built, with `policies/default.yaml`, the decision log in a file. `more`
 * are further arguments of `serve`.
 */
export async function startCrawlWall(more: readonly string[] = []): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), "crawlwall-bench-"));
  buildPackage(folder);
  const port = await freePort();
  const args = [join(folder, "bin", "crawlwall.js"), "serve", "--trust-request-id"];
  args.push("--policies", join(folder, "policies", "default.yaml"));
  args.push("--listen", `127.0.0.1:${port}`, "--admin", "off");
  args.push("--data-dir", join(folder, "data"), "--log-file", join(folder, "decisions.jsonl"));
  args.push(...more);
  const program = startProgram(process.execPath, args);
  const stop = async (): Promise<void> => {
    await program.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    // Its address lists are tried first, for 10 s at most.
    await waitFor("CrawlWall to be ready", () => isReady(port), 20_000);
  } catch (cause) {
    await stop();
    throw new Error(`CrawlWall did not start:\n${program.output()}`, { cause });
  }
  return { port, processId: program.child.pid, stop };
}

function buildPackage(folder: string): void {
  const compiler = join(root, "node_modules", ".bin", "tsc");
  const args = ["-p", join(root, "tsconfig.build.json"), "--outDir", join(folder, "dist")];
  const { stdout } = spawnSync(compiler, args, { encoding: "utf8" });
  if (!existsSync(join(folder, "dist", "cli", "main.js"))) throw new Error(stdout);
  for (const name of ["bin", "policies", "package.json"]) {
    cpSync(join(root, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
}

async function isReady(port: number): Promise<true | undefined> {
  try {
    const { status } = await fetch(`http://127.0.0.1:${port}/readyz`);
    return status === 200 ? true : undefined;
  } catch {
    return undefined;
  }
}

/** Resident memory of a process in megabytes (Linux), or undefined where the system does not say. */
export function residentMegabytes(processId: number | undefined): number | undefined {
  try {
    const status = readFileSync(`/proc/${processId}/status`, "utf8");
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
  } catch {
    return undefined;
  }
}
