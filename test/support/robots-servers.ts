import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Servers on loopback that were opened together and are closed together. */
export interface RobotsServers {
  /** `127.0.0.1:port` of each. */
  readonly hosts: readonly string[];
  /** Most requests that were being answered at one time: by any one of them, and by all. */
  readonly most: { readonly perHost: number; readonly together: number };
  stop(): Promise<void>;
}

/** Opens servers that all answer in the same way. */
export async function startRobotsServers(
  count: number,
  answer: RequestListener,
): Promise<RobotsServers> {
  const most = { perHost: 0, together: 0 };
  let together = 0;
  const open = async (): Promise<Server> => {
    let here = 0;
    const server = createServer((request, response) => {
      here++;
      together++;
      most.perHost = Math.max(most.perHost, here);
      most.together = Math.max(most.together, together);
      response.on("close", () => {
        here--;
        together--;
      });
      answer(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return server;
  };
  const servers = await Promise.all(Array.from({ length: count }, open));
  return {
    hosts: servers.map((server) => `127.0.0.1:${(server.address() as AddressInfo).port}`),
    most,
    stop: async () => {
      await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
    },
  };
}
