import { mkdirSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type Command, InvalidArgumentError } from "commander";
import { StartError } from "../assemble/start-error.ts";
import { type Service, startService } from "../assemble.ts";
import { readSettings } from "../settings.ts";
import { CannotRun, EXIT, type ExitCode, note, runCommand } from "./exit.ts";
import { type Caddy, type CaddyRun, findCaddy, keepaliveFor, runCaddy } from "./up/caddy.ts";
import { type DemoSite, startDemoSite } from "./up/demo-site.ts";
import { anyFreePort, freePortFrom, isFree } from "./up/ports.ts";

interface UpOptions {
  readonly port: number | undefined;
  readonly dataDir: string;
}

/** `crawlwall up`: the sidecar, Caddy in front of it and a demo site behind, on one machine. */
export function registerUp(program: Command): void {
  program
    .command("up")
    .description("try it: a demo site behind Caddy and CrawlWall, on this machine alone")
    .option(
      "--port <port>",
      "where Caddy listens (default: 8080, else the next free one)",
      readPort,
    )
    .option("--data-dir <dir>", "decision log and keys", "data")
    .action((options: UpOptions) => runCommand(() => up(options)));
}

function readPort(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port;
  throw new InvalidArgumentError("a port is a whole number from 1 to 65535");
}

/** Of the package, whether it runs from src or from dist. */
const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const POLICY = join(ROOT, "examples", "demo", "crawlwall.yaml");
const SIDECAR_PORT = 9301;
const SITE_PORT = 8080;

async function up(options: UpOptions): Promise<ExitCode> {
  const port = await choosePort(options.port);
  const stopping = firstSignal();
  const site = await startDemoSite();
  const logFile = join(options.dataDir, "decisions.jsonl");
  const service = await startSidecar(options.dataDir, logFile);
  let front: CaddyRun | undefined;
  try {
    const caddy = findCaddy(process.env.PATH ?? "", join(ROOT, ".cache"));
    if (caddy === undefined) {
      note(
        `Caddy is missing; \`npm run setup\` in a checkout fetches it, or put \`caddy\` on the PATH. The sidecar runs alone at ${service.address}`,
      );
    } else {
      front = await startCaddy({ caddy, port, service, site, dataDir: options.dataDir });
      printWelcome(caddy, port, logFile);
    }
    return await lastOf(stopping, front);
  } finally {
    await front?.stop();
    await service.close();
    await site.close();
  }
}

async function choosePort(asked: number | undefined): Promise<number> {
  if (asked === undefined) return freePortFrom(SITE_PORT);
  if (await isFree(asked)) return asked;
  throw new CannotRun([`--port: ${asked} cannot be listened on; leave it out to take a free one`]);
}

function firstSignal(): Promise<"signal"> {
  return new Promise((resolve) => {
    process.once("SIGINT", () => resolve("signal"));
    process.once("SIGTERM", () => resolve("signal"));
  });
}

async function startSidecar(dataDir: string, logFile: string): Promise<Service> {
  mkdirSync(dataDir, { recursive: true });
  const settings = readSettings({
    policies: POLICY,
    listen: `127.0.0.1:${await freePortFrom(SIDECAR_PORT)}`,
    admin: "off",
    ledger: "sqlite:",
    trustRequestId: true,
    dataDir,
    verifyTimeout: "500ms",
    logLevel: "warn",
    logIp: "full",
    logFile,
  });
  try {
    return await startService(settings);
  } catch (error) {
    if (error instanceof StartError) throw new CannotRun(error.faults, { cause: error });
    throw error;
  }
}

interface Front {
  readonly caddy: Caddy;
  readonly port: number;
  readonly service: Service;
  readonly site: DemoSite;
  readonly dataDir: string;
}

async function startCaddy(front: Front): Promise<CaddyRun> {
  const home = join(front.dataDir, "caddy");
  const env = {
    CRAWLWALL_SITE: "http://localhost, http://127.0.0.1",
    CRAWLWALL_SIDECAR: front.service.address,
    CRAWLWALL_BACKEND: `127.0.0.1:${front.site.port}`,
    CRAWLWALL_KEEPALIVE: keepaliveFor(front.caddy),
    CRAWLWALL_HTTP_PORT: String(front.port),
    CRAWLWALL_HTTPS_PORT: String(await anyFreePort()),
    CRAWLWALL_BIND: "127.0.0.1",
    CRAWLWALL_CADDY_ADMIN: "off",
    XDG_CONFIG_HOME: home,
    XDG_DATA_HOME: home,
  };
  try {
    return await runCaddy(front.caddy, join(ROOT, "Caddyfile"), env);
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new CannotRun([`${front.caddy.path} did not start: ${cause}`], { cause: error });
  }
}

/** Waits for Ctrl-C, or for Caddy's end, which nobody asked for. */
async function lastOf(stopping: Promise<"signal">, caddy: CaddyRun | undefined): Promise<ExitCode> {
  const died = caddy?.ended.then((how) => ({ how }));
  const first = await (died === undefined ? stopping : Promise.race([stopping, died]));
  if (first === "signal") return EXIT.fine;
  for (const line of caddy?.lastWords() ?? []) note(line);
  note(`crawlwall: Caddy ended with ${first.how}; its last lines are above`);
  return EXIT.cannotRun;
}

function printWelcome(caddy: Caddy, port: number, logFile: string): void {
  const site = `http://127.0.0.1:${port}`;
  const tries = [
    [`curl ${site}/`, "a person gets the page"],
    [`curl -A GPTBot/1.1 ${site}/`, "403: says it is GPTBot, and is not"],
    [`curl -A demobot/1.0 --interface 127.0.0.2 ${site}/`, "200: is demobot (Linux)"],
    [`curl ${site}/archive/1999`, "403: nobody unknown in the archive"],
    [`curl ${site}/robots.txt`, "200: for everybody, always"],
    [
      `for n in $(seq 11); do curl -so /dev/null -w '%{http_code} ' ${site}/search; done`,
      "429 from the eleventh on in a minute",
    ],
  ];
  const lines = [
    `A demo site stands behind Caddy ${caddy.version.join(".")} and CrawlWall at ${site}/`,
    "",
    "In another terminal:",
    ...tries.flatMap(([command, what]) => [`  ${command}`, `      ${what}`]),
    "",
    `policy        ${relative(process.cwd(), POLICY)}`,
    `decision log  ${logFile}`,
    "Ctrl-C ends everything.",
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
}
