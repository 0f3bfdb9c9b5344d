import { readFileSync } from "node:fs";
import type { FastifyInstance } from "fastify";
import pino, { type Logger } from "pino";
import { formatFault } from "./core/policy/fault.ts";
import { createSiteLookup, type SiteLookup } from "./core/policy/hosts.ts";
import type { Policy } from "./core/policy/policy.ts";
import { createGate, type Gate } from "./gate.ts";
import { type DecisionLog, openDecisionLog } from "./io/decision-log.ts";
import { createEventIds } from "./io/event-id.ts";
import { createAddressHash, openSecret } from "./io/keys.ts";
import { createMemoryLimits } from "./io/limits/memory.ts";
import { createMetrics, type Metrics, type PolicyInfo } from "./io/metrics.ts";
import { EMBEDDED_POLICY, policiesPath, watchPolicyFiles } from "./io/policy-files.ts";
import { openVerifier, type Verifier } from "./io/verify/verifier.ts";
import { loadPolicies } from "./load.ts";
import { createAdmin } from "./server/admin/app.ts";
import { createApp } from "./server/app.ts";
import { createForwardAuth } from "./server/authz.ts";
import { type ListenAddress, type Listening, listen } from "./server/listen.ts";
import type { Settings } from "./settings.ts";

/** A running sidecar. */
export interface Service {
  /** As a proxy is told it. */
  readonly address: string;
  readonly log: Logger;
  /** Reads every policy again; the whole set is swapped, or none and the last good one stays. */
  reload(): void;
  /** Opens the decision log's file again. */
  reopenLogs(): void;
  /** Drains, writes what is waiting, and lets go of everything. */
  close(): Promise<void>;
}

/** A start that cannot be: every fault of every file, a line each. */
export class StartError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[], options?: ErrorOptions) {
    super(faults.join("\n"), options);
    this.name = "StartError";
    this.faults = faults;
  }
}

/** Brings the parts together and opens the listener. Rejects with a `StartError`. */
export async function startService(settings: Settings): Promise<Service> {
  const log = pino({ name: "crawlwall", level: settings.logLevel }, pino.destination(2));
  const path = policiesPath(settings.policies);
  const policies = firstPolicies(path, log);
  const sharedKey = readSharedKey(settings.sharedKeyFile);
  const verifier = openVerifierFor(settings, log);
  const metrics = createMetrics();
  const decisions = await openDecisions(settings, log);
  const sites = createSites(policies, verifier);
  const gate = openGate(verifier, decisions, metrics);
  // Fastify's own notes are of no interest; its warnings and errors are.
  const httpLog = log.child({}, { level: "warn" });
  const app = createApp({
    forwardAuth: createForwardAuth({
      gate,
      findSite: (host) => sites.find(host),
      trustedProxies: settings.trustedProxies,
      trustRequestId: settings.trustRequestId,
      nowMs: Date.now,
      monotonicMs: () => performance.now(),
      onMisconfigured: createMisconfigurationLog(log, metrics),
    }),
    health: { isReady: () => sites.isReady() },
    sharedKey,
    log: httpLog,
  });
  const admin = createAdmin({ log: httpLog, hosts: settings.adminHosts, metrics });
  metrics.reloaded(true, policies.map(infoOf));
  const listening = await open("--listen", app, settings.listen);
  const operators = settings.admin && (await open("--admin", admin, settings.admin));
  log.info(
    { listen: listening.address, admin: operators?.address, policies: path },
    "crawlwall answers",
  );
  return serviceOf({ path, log, sites, decisions, metrics, verifier, listening, operators });
}

/** Faults of the set-up come once a request: the log tells each kind once a minute. */
const REPEAT_MS = 60_000;

function createMisconfigurationLog(log: Logger, metrics: Metrics): (cause: string) => void {
  const told = new Map<string, number>();
  return (cause) => {
    metrics.reject(cause);
    const now = performance.now();
    if (now - (told.get(cause) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS) return;
    told.set(cause, now);
    log.warn({ cause }, "refused with 400: the proxy does not send what it must");
  };
}

function firstPolicies(path: string, log: Logger): readonly Policy[] {
  if (path === EMBEDDED_POLICY) log.info("no policies folder here: the embedded policy runs");
  const loaded = loadPolicies(path);
  if (loaded.kind === "faulty") throw new StartError(loaded.faults);
  for (const warning of loaded.warnings) {
    log.warn({ code: warning.code }, formatFault(warning));
  }
  return loaded.policies;
}

function readSharedKey(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  let key: string;
  try {
    key = readFileSync(file, "utf8").trim();
  } catch (error) {
    throw new StartError([`--shared-key-file: ${file} cannot be read`], { cause: error });
  }
  if (key.length < 16) {
    throw new StartError([`--shared-key-file: ${file} holds fewer than 16 characters`]);
  }
  return key;
}

function openVerifierFor(settings: Settings, log: Logger): Verifier {
  const { dataDir, dnsServers, verifyTimeoutMs, allowInsecureSources } = settings;
  return openVerifier({
    dataDir,
    dnsServers,
    timeoutMs: verifyTimeoutMs,
    allowInsecureSources,
    log,
  });
}

async function openDecisions(settings: Settings, log: Logger): Promise<DecisionLog> {
  const { logFile: file, logIp: ip, dataDir } = settings;
  const hashAddress =
    ip === "hashed"
      ? createAddressHash(openSecret(dataDir, "address.key"))
      : (text: string) => text;
  const onError = (error: Error): void =>
    log.error({ err: error }, "the decision log cannot be written");
  try {
    return await openDecisionLog({ file, ip, hashAddress, onError });
  } catch (error) {
    throw new StartError([`--log-file: ${file} cannot be opened`], { cause: error });
  }
}

function openGate(verifier: Verifier, decisions: DecisionLog, metrics: Metrics): Gate {
  const limits = createMemoryLimits();
  metrics.gauge("crawlwall_limiter_buckets", "Buckets in memory", () => limits.size);
  metrics.gauge(
    "crawlwall_limiter_overflowed",
    "Charges that shared an overflow bucket",
    () => limits.overflowed,
  );
  metrics.gauge("crawlwall_decision_log_dropped", "Lines that were lost", decisions.dropped);
  return createGate({
    verifier,
    spend: limits.spend,
    record: (event) => {
      decisions.record(event);
      metrics.record(event);
    },
    newEventId: createEventIds(),
    nowMs: Date.now,
    monotonicMs: () => performance.now(),
  });
}

/** The policies in force, and whether their address lists have been tried. */
interface Sites {
  find(host: string): Policy | undefined;
  isReady(): boolean;
  replace(policies: readonly Policy[]): void;
}

function createSites(first: readonly Policy[], verifier: Verifier): Sites {
  let lookup: SiteLookup<Policy> = createSiteLookup(first);
  let ready = false;
  verifier.configure(first);
  void verifier.ready().then(() => {
    ready = true;
  });
  return {
    find: (host) => lookup(host),
    isReady: () => ready,
    replace: (policies) => {
      lookup = createSiteLookup(policies);
      verifier.configure(policies);
    },
  };
}

async function open(flag: string, app: FastifyInstance, where: ListenAddress): Promise<Listening> {
  try {
    return await listen(app, where);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError([`${flag}: ${reason}`], { cause: error });
  }
}

interface Parts {
  readonly path: string;
  readonly log: Logger;
  readonly sites: Sites;
  readonly decisions: DecisionLog;
  readonly metrics: Metrics;
  readonly verifier: Verifier;
  readonly listening: Listening;
  readonly operators: Listening | undefined;
}

function infoOf(policy: Policy): PolicyInfo {
  return { site: policy.site.id, hash: policy.hash };
}

function serviceOf(parts: Parts): Service {
  const { path, log, sites, decisions, metrics, verifier, listening, operators } = parts;
  const reload = (): void => {
    const loaded = loadPolicies(path);
    if (loaded.kind === "faulty") {
      metrics.reloaded(false, []);
      log.error({ faults: loaded.faults }, "policies not reloaded: the last good set stays");
      return;
    }
    sites.replace(loaded.policies);
    metrics.reloaded(true, loaded.policies.map(infoOf));
    log.info({ policies: loaded.policies.map((policy) => policy.site.id) }, "policies reloaded");
  };
  const watcher = watchPolicyFiles(path, reload, (error) =>
    log.warn({ err: error }, "policy files are not watched any more: send SIGHUP to reload"),
  );
  return {
    address: listening.address,
    log,
    reload,
    reopenLogs: () => decisions.reopen(),
    close: async () => {
      watcher.close();
      await listening.drain();
      await operators?.drain();
      verifier.close();
      await decisions.close();
    },
  };
}
