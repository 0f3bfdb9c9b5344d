import type { Contender } from "../suite.ts";
import type { LoadTool } from "./load.ts";
import type { Server } from "./servers.ts";
import type { LoadRequest } from "./visits.ts";

/** Connections over which every server is loaded. */
export const CONNECTIONS = 64;

/** A server that is sent requests as fast as it answers. */
export function contender(
  name: string,
  server: Server,
  requests: readonly LoadRequest[],
  tool: LoadTool,
): Contender {
  const measure = (seconds: number): Promise<number> =>
    tool.run(server.port, requests, { connections: CONNECTIONS, seconds });
  return { name, processId: server.processId, measure };
}
