import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { freePort } from "./free-port.ts";
import { type RunningProgram, startProgram } from "./program.ts";
import { root } from "./programs.ts";
import { type Door, sendRaw } from "./raw-client.ts";
import { waitFor } from "./wait.ts";

const eventSchema = z.object({
  id: z.string(),
  request_id: z.string().nullable(),
  site_id: z.string().nullable(),
  host: z.string(),
  method: z.string(),
  path: z.string(),
  raw_path: z.string().nullable(),
  query: z.string().nullable(),
  reading: z.string().nullable(),
  ip: z.string().nullable(),
  user_agent: z.string().nullable(),
  bot_id: z.string(),
  claimed: z.boolean(),
  verified: z.boolean(),
  verification: z.string(),
  action: z.string(),
  rule_id: z.string(),
  reason: z.string().nullable(),
  status: z.number(),
  enforced: z.boolean(),
  would_block: z.boolean(),
});

/** A line of the decision log, as far as these tests read it. */
export type LoggedEvent = z.infer<typeof eventSchema>;

export interface SidecarOptions {
  /** Policy files by name. */
  readonly policies: Readonly<Record<string, string>>;
  readonly over?: "tcp" | "unix";
  /** More flags of `serve`. */
  readonly flags?: readonly string[];
  /** Options of Node itself. */
  readonly nodeOptions?: readonly string[];
}

/** `crawlwall serve` as operators run it: a process of its own. */
export interface Sidecar {
  readonly door: Door;
  /** The address in the form that Caddy dials. */
  readonly dial: string;
  readonly folder: string;
  readonly process: () => RunningProgram;
  /** All lines of the decision log so far. */
  events(): readonly LoggedEvent[];
  /** The event of one request; waits for it. */
  event(requestId: string): Promise<LoggedEvent>;
  /** Writes policy files; the watcher or SIGHUP picks them up. */
  writePolicy(name: string, text: string): void;
  /** Ends it at once, as a crash would. */
  kill(): Promise<void>;
  /** Starts it again at the same address; resolves when it is ready. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts it on a free port or a unix socket, with folders of its own; resolves when it is ready. */
export async function startSidecar(options: SidecarOptions): Promise<Sidecar> {
  const folder = mkdtempSync(join(tmpdir(), "crawlwall-"));
  const policies = join(folder, "policies");
  const log = join(folder, "decisions.jsonl");
  mkdirSync(policies);
  const writePolicy = (name: string, text: string): void =>
    writeFileSync(join(policies, name), text);
  for (const [name, text] of Object.entries(options.policies)) writePolicy(name, text);

  const door: Door = options.over === "unix" ? join(folder, "crawlwall.sock") : await freePort();
  const listen = typeof door === "string" ? `unix:${door}` : `127.0.0.1:${door}`;
  const args = [...(options.nodeOptions ?? []), `${root}bin/crawlwall.js`, "serve"];
  args.push("--policies", policies, "--listen", listen, "--admin", "off");
  args.push("--data-dir", join(folder, "data"), "--log-file", log, "--trust-request-id");
  args.push(...(options.flags ?? []));

  let running = await startReady(args, door);
  const events = (): readonly LoggedEvent[] => readEvents(log);
  return {
    door,
    dial: typeof door === "string" ? `unix/${door}` : `127.0.0.1:${door}`,
    folder,
    process: () => running,
    events,
    event: (requestId) =>
      waitFor(`the event of request ${requestId}`, () =>
        events().find((event) => event.request_id === requestId),
      ),
    writePolicy,
    kill: async () => {
      running.child.kill("SIGKILL");
      await running.ended;
    },
    start: async () => {
      running = await startReady(args, door);
    },
    stop: async () => {
      await running.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function startReady(args: readonly string[], door: Door): Promise<RunningProgram> {
  const program = startProgram(process.execPath, args);
  try {
    await waitFor("the sidecar to be ready", () => isReady(program, door), 45_000);
  } catch (cause) {
    await program.stop();
    throw new Error(`the sidecar did not start:\n${program.output()}`, { cause });
  }
  return program;
}

async function isReady(program: RunningProgram, door: Door): Promise<true | undefined> {
  if (program.child.exitCode !== null) throw new Error("it ended");
  if (typeof door === "string" && !existsSync(door)) return undefined;
  const request = "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  const answer = await sendRaw(door, request);
  return answer?.status === 200 ? true : undefined;
}

function readEvents(log: string): readonly LoggedEvent[] {
  if (!existsSync(log)) return [];
  const lines = readFileSync(log, "utf8").split("\n");
  // The last piece is empty, or a line that is still being written.
  return lines.slice(0, -1).map((line) => eventSchema.parse(JSON.parse(line)));
}
