import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { freePort } from "../../test/support/free-port.ts";
import { startProgram } from "../../test/support/program.ts";
import { root } from "../../test/support/programs.ts";
import { type Sidecar, startSidecar } from "../../test/support/sidecar.ts";
import { waitFor } from "../../test/support/wait.ts";

/** A server of a contender, in a process of its own on 127.0.0.1. */
export interface Server {
  readonly port: number;
  stop(): Promise<void>;
}

/** A Fastify route that allows everything. */
export async function startAllowAll(): Promise<Server> {
  const port = await freePort();
  const script = fileURLToPath(new URL("allow-all.ts", import.meta.url));
  const program = startProgram(process.execPath, [script, String(port)]);
  await waitFor("the bare route to listen", () =>
    program.stdout().includes("listening") ? true : undefined,
  );
  return { port, stop: program.stop };
}

/** CrawlWall as shipped, with `policies/default.yaml` and the decision log in a file. */
export async function startCrawlWall(): Promise<Server & { readonly sidecar: Sidecar }> {
  const policy = readFileSync(`${root}policies/default.yaml`, "utf8");
  const sidecar = await startSidecar({ policies: { "default.yaml": policy } });
  const port = Number(sidecar.door);
  return { port, sidecar, stop: sidecar.stop };
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
