import { type CaddyOptions, type RunningCaddy, startCaddy } from "./caddy.ts";
import { type EchoUpstream, startEchoUpstream } from "./echo-upstream.ts";
import { type CaddyProgram, newCaddy, oldCaddy } from "./programs.ts";
import { head, type RawAnswer, type RawOptions, sendRaw } from "./raw-client.ts";
import { type LoggedEvent, type Sidecar, startSidecar } from "./sidecar.ts";

/** Caddy in front, the sidecar beside it, an application behind: what an operator runs. */
export interface Wall {
  readonly caddy: RunningCaddy;
  readonly sidecar: Sidecar;
  readonly backend: EchoUpstream;
  /** Sends a request as it is written; throws when the connection closes without an answer. */
  send(target: string, request?: WallRequest): Promise<RawAnswer>;
  /** The event that belongs to an answer. */
  eventOf(answer: RawAnswer): Promise<LoggedEvent>;
  stop(): Promise<void>;
}

export interface WallRequest extends RawOptions {
  readonly host?: string;
  readonly method?: string;
  readonly userAgent?: string;
  /** More header lines, as they are written. */
  readonly lines?: readonly string[];
  readonly body?: string;
}

export interface WallOptions {
  readonly caddy: CaddyProgram;
  readonly policies: Readonly<Record<string, string>>;
  readonly over?: "tcp" | "unix";
  readonly flags?: readonly string[];
  readonly nodeOptions?: readonly string[];
  readonly file?: CaddyOptions["file"];
  readonly env?: CaddyOptions["env"];
  readonly hosts?: readonly string[];
}

/** A current browser's User-Agent, shortened. */
export const PERSON = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";

/** Each way in which the shipped set-up runs: both Caddys, over TCP and over a unix socket. */
export const setUps: readonly { readonly name: string; readonly options: SetUp }[] = [
  { name: `${oldCaddy.name} over TCP`, options: { caddy: oldCaddy, over: "tcp" } },
  { name: `${oldCaddy.name} over a unix socket`, options: { caddy: oldCaddy, over: "unix" } },
  { name: `${newCaddy.name} over TCP`, options: { caddy: newCaddy, over: "tcp" } },
  { name: `${newCaddy.name} over a unix socket`, options: { caddy: newCaddy, over: "unix" } },
];

type SetUp = Pick<WallOptions, "caddy" | "over">;

/** Starts all three; whoever starts a wall stops it. */
export async function startWall(options: WallOptions): Promise<Wall> {
  const backend = await startEchoUpstream();
  const sidecar = await startSidecar(options);
  const caddy = await startCaddy({
    caddy: options.caddy,
    ...(options.file === undefined ? {} : { file: options.file }),
    ...(options.env === undefined ? {} : { env: options.env }),
    hosts: options.hosts ?? ["site.test"],
    sidecar: sidecar.dial,
    backend: backend.port,
  });
  const send = (target: string, request: WallRequest = {}): Promise<RawAnswer> =>
    sendThrough(caddy.port, target, request);
  return {
    caddy,
    sidecar,
    backend,
    send,
    eventOf: (answer) => sidecar.event(requestIdOf(answer)),
    stop: async () => {
      await caddy.stop();
      await sidecar.stop();
      await backend.close();
    },
  };
}

/** One value of one field of an answer, or undefined. */
export function field(answer: RawAnswer, name: string): string | undefined {
  return answer.fields.get(name)?.join(", ");
}

function requestIdOf(answer: RawAnswer): string {
  const id = field(answer, "crawlwall-request-id");
  if (id === undefined) throw new Error("the answer has no Crawlwall-Request-Id");
  return id;
}

async function sendThrough(port: number, target: string, request: WallRequest): Promise<RawAnswer> {
  const lines = [
    `Host: ${request.host ?? "site.test"}`,
    `User-Agent: ${request.userAgent ?? PERSON}`,
    ...(request.lines ?? []),
    ...(request.body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(request.body)}`]),
  ];
  const bytes = head(target, lines, request.method) + (request.body ?? "");
  const answer = await sendRaw(port, bytes, request);
  if (answer === undefined) throw new Error(`no answer to ${target}`);
  return answer;
}
