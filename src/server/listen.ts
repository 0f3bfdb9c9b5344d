import { chmodSync, statSync, unlinkSync } from "node:fs";
import type { Server } from "node:http";
import net from "node:net";
import type { FastifyInstance } from "fastify";

/** Where to listen. */
export type ListenAddress =
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  | { readonly kind: "unix"; readonly path: string };

/** A service that accepts connections. */
export interface Listening {
  /** As a proxy is told it: `127.0.0.1:9301` or `unix:/path`. */
  readonly address: string;
  /**
   * Stops accepting, answers what still comes on open connections with `Connection: close`, and
   * resolves when none is left, or after `DRAIN_MS` at the latest.
   */
  drain(): Promise<void>;
}

/** A proxy that is told `Connection: close` has let go by then; one that is silent is left behind. */
const DRAIN_MS = 2000;

/** Opens the listener. Rejects where the address cannot be had. */
export async function listen(app: FastifyInstance, where: ListenAddress): Promise<Listening> {
  if (where.kind === "unix") {
    await removeStaleSocket(where.path);
    await app.listen({ path: where.path });
    // Node makes the file with the umask; the proxy's group must reach it, others must not.
    chmodSync(where.path, 0o660);
    return { address: `unix:${where.path}`, drain: () => drain(app) };
  }
  await app.listen({ host: where.host, port: where.port, backlog: 4096 });
  const bound = app.server.address();
  const port = typeof bound === "object" && bound !== null ? bound.port : where.port;
  const host = where.host.includes(":") ? `[${where.host}]` : where.host;
  return { address: `${host}:${port}`, drain: () => drain(app) };
}

/** A killed process leaves its socket file behind; a living one must not lose it. */
async function removeStaleSocket(path: string): Promise<void> {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw new Error(`${path} is there, and is no socket`);
  const isAlive = await new Promise<boolean>((resolve) => {
    const probe = net.connect(path);
    probe.once("connect", () => resolve(true)).once("error", () => resolve(false));
    probe.once("connect", () => probe.destroy());
  });
  if (isAlive) throw new Error(`${path} is in use by another process`);
  unlinkSync(path);
}

async function drain(app: FastifyInstance): Promise<void> {
  const { server } = app;
  server.prependListener("request", (_, response) => {
    response.shouldKeepAlive = false;
  });
  await Promise.race([stopAccepting(server), wait(DRAIN_MS)]);
  server.closeAllConnections();
  await app.close();
}

/**
 * Closes the listening socket alone. `http.Server.close` would also cut idle connections, on which
 * the proxy may be sending a request at this moment.
 */
function stopAccepting(server: Server): Promise<void> {
  return new Promise((resolve) => {
    net.Server.prototype.close.call(server, () => resolve());
  });
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
