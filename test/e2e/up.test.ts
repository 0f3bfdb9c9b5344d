import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { freePort } from "../support/free-port.ts";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { newCaddy, oldCaddy, root } from "../support/programs.ts";
import { head, type RawOptions, sendRaw } from "../support/raw-client.ts";
import { waitFor } from "../support/wait.ts";

describe("crawlwall up", () => {
  let folder: string;
  let port: number;
  let running: RunningProgram | undefined;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "crawlwall-up-"));
    mkdirSync(join(folder, "bin"));
    port = await freePort();
  });
  afterEach(async () => {
    await running?.stop();
    running = undefined;
    rmSync(folder, { recursive: true, force: true });
  });

  /** With `caddy` on the PATH, if any: that one is taken. */
  const up = (caddy?: string, ...args: readonly string[]): RunningProgram => {
    if (caddy !== undefined) symlinkSync(caddy, join(folder, "bin", "caddy"));
    const options = ["up", "--port", String(port), "--data-dir", join(folder, "data"), ...args];
    running = startProgram(process.execPath, [`${root}bin/crawlwall.js`, ...options], {
      env: { PATH: join(folder, "bin") },
    });
    return running;
  };
  const ready = (program: RunningProgram): Promise<true> =>
    waitFor(
      "the welcome",
      () => program.stdout().includes("Ctrl-C ends everything") || undefined,
      45_000,
    );
  const get = async (target: string, agent: string, from?: RawOptions): Promise<number> => {
    const lines = [`Host: 127.0.0.1:${port}`, `User-Agent: ${agent}`];
    return (await sendRaw(port, head(target, lines), from))?.status ?? 0;
  };

  it.each([
    ["2.6.2", oldCaddy.path],
    ["2.11.7", newCaddy.path],
  ])("shows on Caddy %s what it says there is to try", async (version, caddy) => {
    const program = up(caddy);
    await ready(program);
    expect(program.stdout()).toContain(
      `Caddy ${version} and CrawlWall at http://127.0.0.1:${port}/`,
    );
    expect(await get("/", "curl/8.0")).toBe(200);
    expect(await get("/", "GPTBot/1.1")).toBe(403);
    expect(await get("/", "demobot/1.0", { from: "127.0.0.2" })).toBe(200);
    expect(await get("/archive/1999", "curl/8.0")).toBe(403);
    expect(await get("/robots.txt", "GPTBot/1.1")).toBe(200);
    const searches: number[] = [];
    for (let count = 1; count <= 11; count += 1) searches.push(await get("/search", "curl/8.0"));
    expect(searches).toEqual([...Array<number>(10).fill(200), 429]);
    program.child.kill("SIGINT");
    expect(await program.ended).toBe(0);
    const log = readFileSync(join(folder, "data", "decisions.jsonl"), "utf8");
    expect(log.trimEnd().split("\n")).toHaveLength(16);
    expect(await get("/", "curl/8.0")).toBe(0);
  });

  it("says that Caddy has died, and ends", async () => {
    const program = up(newCaddy.path);
    await ready(program);
    const children = readFileSync(
      `/proc/${program.child.pid}/task/${program.child.pid}/children`,
      "utf8",
    );
    process.kill(Number(children.trim()), "SIGKILL");
    expect(await program.ended).toBe(2);
    expect(program.output()).toContain("Caddy ended with SIGKILL");
  });

  it("says that Caddy did not start, with Caddy's last words, and ends", async () => {
    const program = up("/bin/false");
    expect(await program.ended).toBe(2);
    expect(program.output()).toContain("did not start: Caddy ended with code 1");
  });

  it("says that the port it was given is in use", async () => {
    const other = createServer().listen(port, "127.0.0.1");
    const program = up(newCaddy.path);
    expect(await program.ended).toBe(2);
    expect(program.output()).toContain(`--port: ${port} cannot be listened on`);
    other.close();
  });
});
