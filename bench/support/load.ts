import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { LoadRequest } from "./visits.ts";

/** Sends requests to one server as fast as it answers. */
export interface LoadTool {
  readonly name: "wrk" | "autocannon";
  /** What stands in a request for an id that is another each time. */
  readonly idMark: string;
  /** Requests a second, over so many connections. Rejects when answers are no 2xx. */
  run(port: number, requests: readonly LoadRequest[], load: Load): Promise<number>;
}

export interface Load {
  readonly connections: number;
  readonly seconds: number;
}

/** `wrk` where it is on the PATH, as it takes the least of the machine; else autocannon. */
export function findLoadTool(): LoadTool {
  const found = spawnSync("wrk", ["--version"], { stdio: "ignore" }).error === undefined;
  return found ? WRK : AUTOCANNON;
}

const WRK: LoadTool = {
  name: "wrk",
  idMark: "%ID%",
  run: async (port, requests, { connections, seconds }) => {
    const folder = mkdtempSync(join(tmpdir(), "crawlwall-wrk-"));
    try {
      const script = join(folder, "requests.lua");
      writeFileSync(script, luaOf(requests));
      const args = ["-t1", `-c${connections}`, `-d${seconds}s`, "-s", script];
      const output = await outputOf("wrk", [...args, `http://127.0.0.1:${port}/`]);
      return rateOf(output);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** Whole requests, made beforehand; only the id is put in as they are sent. */
function luaOf(requests: readonly LoadRequest[]): string {
  const pieces = requests.map((request) => {
    const lines = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const text = `GET ${request.path} HTTP/1.1\r\n${lines.join("")}\r\n`;
    return `{${text.split(WRK.idMark).map(luaString).join(", ")}}`;
  });
  return `local requests = {${pieces.join(",\n")}}
local count = 0
local start = string.format("%x", os.time())
function request()
  count = count + 1
  local pieces = requests[count % #requests + 1]
  if #pieces == 1 then return pieces[1] end
  return table.concat(pieces, string.format("bench-%s-%d", start, count))
end
function done(summary, latency, requests)
  local errors = summary.errors
  -- A slow answer is no wrong one.
  local bad = errors.connect + errors.read + errors.write + errors.status
  local seconds = summary.duration / 1e6
  print(string.format("GOOD %d BAD %d SECONDS %.3f", summary.requests - bad, bad, seconds))
end
`;
}

function luaString(text: string): string {
  return JSON.stringify(text);
}

const AUTOCANNON: LoadTool = {
  name: "autocannon",
  idMark: "[<id>]",
  run: async (port, requests, load) => {
    const script = fileURLToPath(new URL("autocannon.ts", import.meta.url));
    const order = JSON.stringify({ port, requests, ...load });
    const output = await outputOf(process.execPath, [script, order]);
    return rateOf(output);
  },
};

/** Of the right answers; a proxy on a machine that is too busy may lose one in a hundred. */
function rateOf(output: string): number {
  const found = /^GOOD (\d+) BAD (\d+) SECONDS ([\d.]+)$/m.exec(output);
  const [good = 0, bad = 0, seconds = 0] = (found ?? []).slice(1).map(Number);
  if (found === null || bad * 100 > good) throw new Error(`the load went wrong:\n${output}`);
  return good / seconds;
}

function outputOf(program: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`${program} ended with ${code}:\n${output}`));
    });
  });
}
