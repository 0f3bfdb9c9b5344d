import { Agent, request } from "node:http";
import { PERSON } from "./wall.ts";

/** One kind of request of a mix, and what is right to answer. */
export interface LoadRequest {
  readonly path: string;
  readonly host: string;
  /** The right status; several where the policy is changed under way. */
  readonly status: number | readonly number[];
  readonly userAgent?: string;
  readonly method?: string;
  readonly body?: string;
  /** The client's own address. */
  readonly from?: string;
}

/** Traffic that runs beside the test. */
export interface Load {
  /** Requests answered so far. */
  answered(): number;
  /** Lets the requests on their way finish; resolves with all that went wrong, by kind. */
  stop(): Promise<LoadResult>;
}

export interface LoadResult {
  readonly answered: number;
  /** How often each wrong answer or broken connection came; empty when every answer was right. */
  readonly wrong: Readonly<Record<string, number>>;
  /** 503s after a wait of two seconds: the proxy had tried for as long as it is told to. */
  readonly gaveUp: number;
}

/** Less than the proxy's two seconds by what clocks may differ. */
const PATIENCE_MS = 1_900;

/** Sends the mix round and round over `connections` kept connections. */
export function startLoad(port: number, mix: readonly LoadRequest[], connections: number): Load {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const wrong: Record<string, number> = {};
  let answered = 0;
  let gaveUp = 0;
  let isStopping = false;
  const run = async (first: number): Promise<void> => {
    for (let turn = first; !isStopping; turn += 1) {
      const one = mix[turn % mix.length];
      if (one === undefined) throw new Error("an empty mix");
      const since = performance.now();
      const outcome: number | string = await sendOne(agent, port, one);
      const isGivenUp = outcome === 503 && performance.now() - since > PATIENCE_MS;
      if (isGivenUp) gaveUp += 1;
      answered += 1;
      const right: readonly (number | string)[] = [one.status].flat();
      if (!isGivenUp && !right.includes(outcome)) {
        const kind = `${one.path}: ${outcome}`;
        wrong[kind] = (wrong[kind] ?? 0) + 1;
      }
    }
  };
  const runs = Array.from({ length: connections }, (_, index) => run(index));
  return {
    answered: () => answered,
    stop: async () => {
      isStopping = true;
      await Promise.all(runs);
      agent.destroy();
      return { answered, wrong, gaveUp };
    },
  };
}

/** The status, or the error's code. */
function sendOne(agent: Agent, port: number, one: LoadRequest): Promise<number | string> {
  return new Promise((resolve) => {
    const outgoing = request(
      {
        agent,
        host: "127.0.0.1",
        port,
        path: one.path,
        method: one.method ?? "GET",
        headers: { Host: one.host, "User-Agent": one.userAgent ?? PERSON },
        ...(one.from === undefined ? {} : { localAddress: one.from }),
      },
      (answer) => {
        answer.resume();
        answer.once("end", () => resolve(answer.statusCode ?? 0));
        answer.once("error", (error) => resolve(error.message));
      },
    );
    outgoing.once("error", (error) => resolve(error.message));
    outgoing.end(one.body);
  });
}
