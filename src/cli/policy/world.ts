import type { Command } from "commander";
import { createSiteLookup } from "../../core/policy/hosts.ts";
import type { Policy } from "../../core/policy/policy.ts";
import type { VerifierPort } from "../../gate.ts";
import { openVerifier, type Verifier } from "../../io/verify/verifier.ts";
import { loadPolicies } from "../../load.ts";
import { readSettings, type Settings, SettingsError } from "../../settings.ts";
import { CannotRun } from "../exit.ts";
import { flag, switchFlag } from "../flags.ts";
import type { TrialWorld } from "./trial.ts";

/** What tells a command which policies to try, and how claims are verified. */
export interface WorldOptions {
  readonly config: string;
  readonly dataDir: string;
  readonly dnsServers?: string;
  readonly verifyTimeout: string;
  readonly insecureSources?: boolean;
}

/** Policies to try requests on. Close it, so that nothing keeps the process alive. */
export interface OpenWorld extends TrialWorld {
  readonly policies: readonly [Policy, ...Policy[]];
  close(): void;
}

/** The flags of `WorldOptions`. */
export function addWorldOptions(command: Command): Command {
  return command
    .requiredOption("--config <path>", "a policy file, or a folder of them")
    .addOption(flag("--data-dir <dir>", "where the service keeps its address lists", "data"))
    .addOption(flag("--dns-servers <list>", "host:port, comma-separated (default: the system's)"))
    .addOption(flag("--verify-timeout <time>", "longest wait for a proof", "500ms"))
    .addOption(
      switchFlag("--insecure-sources", "allow http and private addresses for lists (tests)"),
    );
}

/** Loads the policies; the verifier is opened, and its lists are read, when a claim first needs it. */
export function openWorld(options: WorldOptions): OpenWorld {
  const settings = settingsFrom(options);
  const loaded = loadPolicies(options.config);
  if (loaded.kind === "faulty") throw new CannotRun(loaded.faults);
  const [first, ...others] = loaded.policies;
  if (first === undefined) throw new CannotRun([`${options.config}: holds no policy`]);
  let opened: Verifier | undefined;
  const verifier = async (): Promise<VerifierPort> => {
    opened ??= openVerifier({
      dataDir: settings.dataDir,
      dnsServers: settings.dnsServers,
      timeoutMs: settings.verifyTimeoutMs,
      allowInsecureSources: settings.allowInsecureSources,
      onlyMissing: true,
    });
    opened.configure(loaded.policies);
    await opened.ready();
    return opened;
  };
  return {
    policies: [first, ...others],
    findSite: createSiteLookup(loaded.policies),
    verifier,
    close: () => opened?.close(),
  };
}

function settingsFrom(options: WorldOptions): Settings {
  const unused = {
    listen: "127.0.0.1:0",
    admin: "off",
    ledger: "off",
    logLevel: "info",
    logIp: "full",
  };
  try {
    return readSettings({ ...unused, ...options });
  } catch (error) {
    if (error instanceof SettingsError) throw new CannotRun(error.faults, { cause: error });
    throw error;
  }
}
