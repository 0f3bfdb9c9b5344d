import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Caddy, findCaddy, keepaliveFor, runCaddy } from "../../src/cli/up/caddy.ts";
import { freePort } from "../../test/support/free-port.ts";
import { root } from "../../test/support/programs.ts";
import type { Server } from "./servers.ts";

/** The site that Caddy serves. */
export const HOST = "site.test";

/** The newest Caddy that is here. Throws where there is none. */
export function requireCaddy(): Caddy {
  const caddy = findCaddy(process.env.PATH ?? "", join(root, ".cache"));
  if (caddy === undefined) throw new Error("Caddy is missing; `npm run setup` fetches it");
  return caddy;
}

/** Caddy with the repository's Caddyfile, before a sidecar and a small site. */
export async function startCaddy(caddy: Caddy, sidecar: Server, backend: Server): Promise<Server> {
  return startCaddyfile(caddy, join(root, "Caddyfile"), {
    CRAWLWALL_SITE: `http://${HOST}`,
    CRAWLWALL_SIDECAR: `127.0.0.1:${sidecar.port}`,
    CRAWLWALL_BACKEND: `127.0.0.1:${backend.port}`,
    CRAWLWALL_KEEPALIVE: keepaliveFor(caddy),
  });
}

const ALONE = `{
	http_port {$CRAWLWALL_HTTP_PORT}
	https_port {$CRAWLWALL_HTTPS_PORT}
	default_bind 127.0.0.1
	admin off
}
http://${HOST} {
	reverse_proxy {$CRAWLWALL_BACKEND}
}
`;

/** Caddy before the small site, and nobody asked. */
export async function startCaddyAlone(caddy: Caddy, backend: Server): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), "crawlwall-caddyfile-"));
  const file = join(folder, "Caddyfile");
  writeFileSync(file, ALONE);
  const server = await startCaddyfile(caddy, file, {
    CRAWLWALL_BACKEND: `127.0.0.1:${backend.port}`,
  });
  rmSync(folder, { recursive: true });
  return server;
}

async function startCaddyfile(
  caddy: Caddy,
  file: string,
  env: Readonly<Record<string, string>>,
): Promise<Server> {
  const port = await freePort();
  const home = mkdtempSync(join(tmpdir(), "crawlwall-caddy-"));
  const running = await runCaddy(caddy, file, {
    CRAWLWALL_HTTP_PORT: String(port),
    CRAWLWALL_HTTPS_PORT: String(await freePort()),
    CRAWLWALL_BIND: "127.0.0.1",
    CRAWLWALL_CADDY_ADMIN: "off",
    XDG_CONFIG_HOME: home,
    XDG_DATA_HOME: home,
    ...env,
  });
  return {
    port,
    processId: undefined,
    stop: async () => {
      await running.stop();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
