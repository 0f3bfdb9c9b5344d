import type { Command } from "commander";
import { StartError } from "../assemble/start-error.ts";
import { type Service, startService } from "../assemble.ts";
import { readSettings, type Settings, SettingsError, type SettingsTexts } from "../settings.ts";
import { CannotRun, EXIT, type ExitCode, runCommand } from "./exit.ts";
import { flag, switchFlag } from "./flags.ts";

/** `crawlwall serve`: the sidecar alone. */
export function registerServe(program: Command): void {
  program
    .command("serve")
    .description("answer a proxy's questions until told to stop")
    .addOption(flag("--policies <path>", "a policy file, or a folder of them (default: policies)"))
    .addOption(flag("--listen <address>", "host:port or unix:/path for proxies", "127.0.0.1:9301"))
    .addOption(flag("--admin <address>", "host:port for /metrics, or off", "127.0.0.1:9302"))
    .addOption(flag("--admin-hosts <names>", "names it answers to, besides loopback's"))
    .addOption(flag("--trusted-proxies <cidrs>", "proxies in front of the proxy, comma-separated"))
    .addOption(flag("--shared-key-file <file>", "the proxy must send this as X-CrawlWall-Key"))
    .addOption(
      switchFlag(
        "--trust-request-id",
        "the proxy overwrites X-Request-Id: a repeat is one decision",
      ),
    )
    .addOption(flag("--data-dir <dir>", "address lists and keys", "data"))
    .addOption(flag("--robots-dir <dir>", "robots.txt files for the proxy (default: in data dir)"))
    .addOption(flag("--ledger <url>", "sqlite:PATH, postgres://… or off", "sqlite:"))
    .addOption(flag("--dns-servers <list>", "host:port, comma-separated (default: the system's)"))
    .addOption(flag("--verify-timeout <time>", "longest wait for a proof", "500ms"))
    .addOption(
      switchFlag("--insecure-sources", "allow http and private addresses for lists (tests)"),
    )
    .addOption(flag("--audit-every <time>", "crawl-delay audit of the hosts, such as 24h"))
    .addOption(flag("--log-level <level>", "of the service log on stderr", "info"))
    .addOption(flag("--log-ip <how>", "full, truncated, hashed or none", "full"))
    .addOption(flag("--log-file <file>", "of the decision log (default: stdout)"))
    .action((options: SettingsTexts) => runCommand(() => serve(options)));
}

async function serve(options: SettingsTexts): Promise<ExitCode> {
  const service = await start(settingsFrom(options));
  await stopped(service);
  return EXIT.fine;
}

function settingsFrom(options: SettingsTexts): Settings {
  try {
    return readSettings(options);
  } catch (error) {
    if (error instanceof SettingsError) throw new CannotRun(error.faults, { cause: error });
    throw error;
  }
}

async function start(settings: Settings): Promise<Service> {
  try {
    return await startService(settings);
  } catch (error) {
    if (error instanceof StartError) throw new CannotRun(error.faults, { cause: error });
    throw error;
  }
}

/** Resolves after the first SIGTERM or SIGINT and a clean end; a second one ends at once. */
function stopped(service: Service): Promise<void> {
  process.on("SIGHUP", () => {
    service.reopenLogs();
    service.reload();
  });
  return new Promise((resolve, reject) => {
    let isStopping = false;
    const stop = (signal: NodeJS.Signals): void => {
      if (isStopping) process.exit(EXIT.found);
      isStopping = true;
      service.log.info({ signal }, "stopping");
      service.close().then(resolve, reject);
    };
    process.on("SIGTERM", stop);
    process.on("SIGINT", stop);
  });
}
