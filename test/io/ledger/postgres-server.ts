import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../support/free-port.ts";
import { root } from "../../support/programs.ts";
import { waitFor } from "../../support/wait.ts";

/** A PostgreSQL server of a test's own, on loopback, with an empty database. */
export interface PostgresServer {
  readonly url: string;
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Stops it and removes its data. */
  remove(): Promise<void>;
  /** Makes a database of its own, and tells its URL. */
  createDatabase(name: string): string;
}

/** initdb refuses root: then the server runs as nobody. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};

/** The folder of PostgreSQL's programs; undefined where this machine has none. */
export function postgresPrograms(): string | undefined {
  for (const base of ["/usr/lib/postgresql", `${root}.cache/postgresql/usr/lib/postgresql`]) {
    if (!existsSync(base)) continue;
    const versions = readdirSync(base).sort((left, right) => Number(right) - Number(left));
    for (const version of versions) {
      const programs = join(base, version, "bin");
      if (existsSync(join(programs, "initdb"))) return programs;
    }
  }
  return undefined;
}

/** Starts a server; its programs are those that `postgresPrograms` found. */
export async function startPostgres(programs: string): Promise<PostgresServer> {
  const home = mkdtempSync(join(tmpdir(), "crawlwall-postgres-"));
  if (NOBODY.uid !== undefined) chownSync(home, NOBODY.uid, NOBODY.gid);
  const data = join(home, "data");
  runProgram(programs, "initdb", [
    "-D",
    data,
    "-U",
    "crawlwall",
    "-A",
    "trust",
    "-E",
    "UTF8",
    "-N",
  ]);
  const port = await freePort();
  let server: ChildProcess | undefined;
  const admin = `postgres://crawlwall@127.0.0.1:${port}/postgres`;
  const start = async (): Promise<void> => {
    const options = ["-D", data, "-p", String(port), "-k", home];
    const settings = ["listen_addresses=127.0.0.1", "fsync=off", "shared_buffers=32MB"];
    server = spawn(
      join(programs, "postgres"),
      [...options, ...settings.flatMap((setting) => ["-c", setting])],
      { ...NOBODY, stdio: "ignore" },
    );
    await waitFor("PostgreSQL", () => isReady(programs, port) || undefined, 30_000);
  };
  const stop = async (): Promise<void> => {
    if (server === undefined || server.exitCode !== null) return;
    const ended = once(server, "exit");
    // Fast shutdown: clients are cut off.
    server.kill("SIGINT");
    await ended;
  };
  await start();
  return {
    url: admin,
    start,
    stop,
    remove: async () => {
      await stop();
      rmSync(home, { recursive: true, force: true });
    },
    createDatabase: (name) => {
      runProgram(programs, "createdb", [
        "-h",
        "127.0.0.1",
        "-p",
        String(port),
        "-U",
        "crawlwall",
        name,
      ]);
      return `postgres://crawlwall@127.0.0.1:${port}/${name}`;
    },
  };
}

function isReady(programs: string, port: number): boolean {
  const options = ["-h", "127.0.0.1", "-p", String(port), "-q"];
  return spawnSync(join(programs, "pg_isready"), options, NOBODY).status === 0;
}

function runProgram(programs: string, name: string, options: readonly string[]): void {
  const { status, stderr } = spawnSync(join(programs, name), options, {
    ...NOBODY,
    encoding: "utf8",
    cwd: tmpdir(),
  });
  if (status !== 0) throw new Error(`${name} failed: ${stderr}`);
}
