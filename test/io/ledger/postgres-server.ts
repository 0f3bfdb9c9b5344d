import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
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

const PROGRAMS = ["initdb", "postgres", "createdb", "pg_isready"];

const CACHED = `${root}.cache/postgresql`;

/** The folder of PostgreSQL's programs; undefined where this machine has none. */
export function postgresPrograms(): string | undefined {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian) : [];
  const newestFirst = versions.sort((left, right) => Number(right) - Number(left));
  const folders = [
    ...newestFirst.map((version) => join(debian, version, "bin")),
    ...(process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== ""),
    join(CACHED, "bin"),
  ];
  return folders.find((folder) => PROGRAMS.every((name) => existsSync(join(folder, name))));
}

/** Starts a server; its programs are those that `postgresPrograms` found. */
export async function startPostgres(found: string): Promise<PostgresServer> {
  const home = mkdtempSync(join(tmpdir(), "crawlwall-postgres-"));
  if (NOBODY.uid !== undefined) chownSync(home, NOBODY.uid, NOBODY.gid);
  const programs = withinReach(found, home);
  const data = join(home, "data");
  const options = ["-D", data, "-U", "crawlwall", "-A", "trust", "-E", "UTF8", "--no-locale", "-N"];
  runProgram(programs, "initdb", options);
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

/** A checkout that only root can enter hides its cache from the server's user: then it gets a copy. */
function withinReach(programs: string, home: string): string {
  const version = spawnSync(join(programs, "postgres"), ["--version"], { ...NOBODY, cwd: home });
  if (version.status === 0 || programs !== join(CACHED, "bin")) return programs;
  cpSync(CACHED, join(home, "programs"), { recursive: true, verbatimSymlinks: true });
  return join(home, "programs", "bin");
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
