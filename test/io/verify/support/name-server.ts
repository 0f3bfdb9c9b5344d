import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DecodedPacket, decode, encode, type Packet } from "dns-packet";
import { freePort } from "../../../support/free-port.ts";
import { startProgram } from "../../../support/program.ts";
import { cachedProgram } from "../../../support/programs.ts";
import { waitFor } from "../../../support/wait.ts";

/** A DNS server on loopback. */
export interface NameServer {
  /** `host:port`. */
  readonly address: string;
  stop(): Promise<void>;
}

/** Starts Debian's nsd with zones by name; a zone whose text is broken answers SERVFAIL. */
export async function startNsd(zones: Readonly<Record<string, string>>): Promise<NameServer> {
  const folder = await mkdtemp(join(tmpdir(), "crawlwall-nsd-"));
  const port = await freePort();
  const parts = Object.keys(zones).map((zone) => `zone:\n  name: ${zone}\n  zonefile: ${zone}\n`);
  const config = `server:
  ip-address: 127.0.0.1@${port}
  username: ""
  zonesdir: ${folder}
  xfrdfile: ${folder}/xfrd
  xfrdir: ${folder}
  zonelistfile: ${folder}/zones
  database: ""
  pidfile: ""
  server-count: 1
remote-control:
  control-enable: no
${parts.join("")}`;
  await writeFile(join(folder, "nsd.conf"), config);
  for (const [zone, text] of Object.entries(zones)) await writeFile(join(folder, zone), text);
  const program = startProgram(cachedProgram("nsd"), ["-d", "-c", join(folder, "nsd.conf")]);
  await waitFor("nsd to listen", () => {
    if (program.child.exitCode !== null) throw new Error(`nsd ended: ${program.output()}`);
    return program.output().includes("nsd started") ? true : undefined;
  });
  return {
    address: `127.0.0.1:${port}`,
    stop: async () => {
      await program.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** What a scripted server answers: records and a code, or nothing at all. */
export type Script = (name: string, type: string) => Promise<Partial<Packet>> | undefined;

/** A server over UDP that does what a test says, and counts what it is asked. */
export interface ScriptedServer extends NameServer {
  readonly asked: readonly string[];
}

/** Starts a server that answers by script; a script that gives undefined stays silent. */
export async function startScripted(script: Script): Promise<ScriptedServer> {
  const socket = createSocket("udp4");
  const asked: string[] = [];
  socket.on("message", (message, peer) => {
    const query: DecodedPacket = decode(message);
    const question = query.questions?.[0];
    if (question === undefined) return;
    asked.push(`${question.type} ${question.name}`);
    void script(question.name.toLowerCase(), question.type)?.then((answer) => {
      const reply: Packet = {
        type: "response",
        id: query.id ?? 0,
        questions: [question],
        ...answer,
      };
      socket.send(encode(reply), peer.port, peer.address, () => undefined);
    });
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    stop: async () => {
      socket.close();
      await once(socket, "close");
    },
  };
}
