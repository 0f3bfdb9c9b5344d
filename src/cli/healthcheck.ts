import type { Command } from "commander";
import { EXIT, type ExitCode, note, runCommand } from "./exit.ts";
import { flag } from "./flags.ts";

// An import would read every name of the module, and for some of them load a whole fetch client.
const { request } = process.getBuiltinModule("node:http");

const TIMEOUT_MS = 3000;

/** `crawlwall healthcheck`: exit 0 when the sidecar is ready, for containers without a shell. */
export function registerHealthcheck(program: Command): void {
  program
    .command("healthcheck")
    .description("ask the running sidecar whether it is ready")
    .addOption(flag("--listen <address>", "where it listens", "127.0.0.1:9301"))
    .action((options: { readonly listen: string }) => runCommand(() => check(options.listen)));
}

async function check(listen: string): Promise<ExitCode> {
  try {
    const status = await askReady(listen);
    if (status === 200) return EXIT.fine;
    note(`crawlwall: ${listen} answers ${status} to /readyz`);
  } catch (error) {
    note(`crawlwall: ${listen}: ${error instanceof Error ? error.message : String(error)}`);
  }
  return EXIT.found;
}

function askReady(listen: string): Promise<number | undefined> {
  const where = listen.startsWith("unix:")
    ? { socketPath: listen.slice("unix:".length) }
    : reachable(listen);
  return new Promise((resolve, reject) => {
    const asking = request({ ...where, path: "/readyz", timeout: TIMEOUT_MS }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asking.on("timeout", () => asking.destroy(new Error("no answer in time")));
    asking.on("error", reject);
    asking.end();
  });
}

/** A listener on every address is asked on this machine's own. */
function reachable(listen: string): { readonly host: string; readonly port: string } {
  const { hostname, port } = new URL(`http://${listen}`);
  const host = hostname.replace(/^\[|\]$/g, "");
  if (host === "0.0.0.0") return { host: "127.0.0.1", port };
  return { host: host === "::" ? "::1" : host, port };
}
