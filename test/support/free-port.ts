import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";

/** The TCP port of a listening server. */
export function portOf(server: Pick<Server, "address">): number {
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === "string") throw new Error("not a TCP server");
  return address.port;
}

/** A port of 127.0.0.1 that is free now, for programs that cannot say which one they took. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const port = portOf(server);
  server.close();
  await once(server, "close");
  return port;
}
