import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { portOf } from "./free-port.ts";

/** A relay in front of the sidecar that loses every second answer. */
export interface FlakyRelay {
  readonly port: number;
  /** Answers of the sidecar that never reached the proxy. */
  lost(): number;
  close(): Promise<void>;
}

/** Relays to a port of 127.0.0.1. On the first, third, … connection it hangs up as the answer comes. */
export async function startFlakyRelay(target: number): Promise<FlakyRelay> {
  let connections = 0;
  let lost = 0;
  const open = new Set<Socket>();
  const server = createServer((near) => {
    connections += 1;
    const isLossy = connections % 2 === 1;
    const far = connect({ host: "127.0.0.1", port: target });
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        open.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far);
    far.on("data", (bytes: Buffer) => {
      if (isLossy) {
        lost += 1;
        near.destroy();
      } else near.write(bytes);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: portOf(server),
    lost: () => lost,
    close: async () => {
      server.close();
      for (const socket of open) socket.destroy();
      await once(server, "close");
    },
  };
}
