import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";

/** The TCP port of a server that listens. Throws for a unix socket or a server that does not. */
export function portOf(server: Pick<Server, "address">): number {
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === "string") throw new Error("no TCP port");
  return address.port;
}

/** Whether a port of 127.0.0.1 can be listened on now; 0 asks for any, and always can. */
export async function isFree(port: number): Promise<boolean> {
  return (await tryPort(port)) !== undefined;
}

/** The first free port of 127.0.0.1 from `first` on, of 20 looked at; else any that is free. */
export async function freePortFrom(first: number): Promise<number> {
  for (let port = first; port < first + 20; port += 1) {
    if (await isFree(port)) return port;
  }
  return anyFreePort();
}

/** A free port of 127.0.0.1, for a program that cannot say which one it took. */
export async function anyFreePort(): Promise<number> {
  const port = await tryPort(0);
  if (port === undefined) throw new Error("no free port on 127.0.0.1");
  return port;
}

async function tryPort(port: number): Promise<number | undefined> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return undefined;
  }
  const taken = portOf(server);
  server.close();
  await once(server, "close");
  return taken;
}
