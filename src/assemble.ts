import { readFileSync } from "node:fs";
import type { FastifyInstance } from "fastify";
import pino, { type Logger } from "pino";
import { createReceipts, type Receipts } from "./assemble/receipts.ts";
import { openRecords, type Records } from "./assemble/records.ts";
import { createReloads } from "./assemble/reloads.ts";
import { createRobotsShelf, type RobotsShelf } from "./assemble/robots.ts";
import { createSites, type Sites } from "./assemble/sites.ts";
import { StartError } from "./assemble/start-error.ts";
import { publishVerifier } from "./assemble/verifier-metrics.ts";
import type { AuditSchedule } from "./audit/schedule.ts";
import { formatFault } from "./core/policy/fault.ts";
import type { Policy } from "./core/policy/policy.ts";
import { createGate, type Gate } from "./gate.ts";
import { createEventIds } from "./io/event-id.ts";
import { openSecret } from "./io/keys.ts";
import { createMemoryLimits } from "./io/limits/memory.ts";
import { createMetrics, type Metrics, type PolicyInfo } from "./io/metrics.ts";
import { EMBEDDED_POLICY, policiesPath, watchPolicyFiles } from "./io/policy-files.ts";
import { openVerifier, type Verifier } from "./io/verify/verifier.ts";
import { completeLoading, type LoadedPolicy } from "./load/loaded.ts";
import { createLoader } from "./load/thread.ts";
import { loadPolicies } from "./load.ts";
import { createAdmin } from "./server/admin/app.ts";
import { createApp } from "./server/app.ts";
import { type Authz, createForwardAuth } from "./server/authz.ts";
import type { Health } from "./server/health.ts";
import { type ListenAddress, type Listening, listen } from "./server/listen.ts";
import { createRobotsAnswer } from "./server/robots.ts";
import { isReachable, type Settings } from "./settings.ts";

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

/** Brings the parts together and opens the listeners. Rejects with a `StartError`. */
export async function startService(settings: Settings): Promise<Service> {
  const log = pino({ name: "crawlwall", level: settings.logLevel }, pino.destination(2));
  const path = policiesPath(settings.policies);
  const first = firstPolicies(path, log);
  const sharedKey = readSharedKey(settings.sharedKeyFile);
  const metrics = createMetrics();
  const verifier = openVerifierFor(settings, log);
  publishVerifier(metrics, verifier);
  const records = await openRecords(settings, metrics, log);
  try {
    const parts = joinParts(settings, { path, log, metrics, verifier, records }, first);
    return await listenWith(settings, parts, sharedKey);
  } catch (error) {
    // What is open would keep a process alive that has given up.
    verifier.close();
    await records.close();
    throw error;
  }
}

function joinParts(
  settings: Settings,
  opened: Omit<Parts, "receipts" | "robots" | "sites">,
  first: readonly LoadedPolicy[],
): Parts {
  const { log, metrics, verifier, records } = opened;
  const robots = createRobotsShelf(settings.robotsDir, log);
  const receipts = createReceipts(settings.dataDir, records.protect, metrics, log);
  const sites = createSites(first, (loaded) => {
    const policies = loaded.map(({ policy }) => policy);
    // First, as these alone can refuse a set.
    records.check(policies);
    receipts.adopt(policies);
    robots.adopt(loaded);
    verifier.configure(policies);
    records.adopt(loaded);
    metrics.reloaded(policies.map(infoOf));
  });
  return { ...opened, receipts, robots, sites };
}

async function listenWith(
  settings: Settings,
  parts: Parts,
  sharedKey: string | undefined,
): Promise<Service> {
  const { path, log, metrics, receipts } = parts;
  // Fastify's own notes are of no interest; its warnings and errors are.
  const httpLog = log.child({}, { level: "warn" });
  const app = createApp({
    ...answersFor(settings, parts),
    health: createHealth(parts),
    jwks: receipts.jwks,
    sharedKey,
    log: httpLog,
  });
  const token = adminToken(settings);
  const admin = createAdmin({ log: httpLog, hosts: settings.adminHosts, token, metrics });
  const listening = await open("--listen", app, settings.listen);
  const operators = settings.admin && (await openBeside(listening, admin, settings.admin));
  const { address } = listening;
  log.info({ listen: address, admin: operators?.address, policies: path }, "crawlwall answers");
  const audit = await openAuditFor(settings, parts);
  return serviceOf(parts, listening, operators, audit);
}

interface Parts {
  readonly path: string;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly verifier: Verifier;
  readonly records: Records;
  readonly receipts: Receipts;
  readonly robots: RobotsShelf;
  readonly sites: Sites;
}

/** What proxies and crawlers are answered; one gate, so that one record is kept. */
function answersFor(
  settings: Settings,
  parts: Parts,
): { readonly forwardAuth: Authz; readonly robots: Authz } {
  const { sites, robots } = parts;
  const common = {
    gate: openGate(parts),
    findSite: (host: string) => sites.find(host),
    trustedProxies: settings.trustedProxies,
    trustRequestId: settings.trustRequestId,
    nowMs: Date.now,
  };
  const onMisconfigured = createMisconfigurationLog(parts.log, parts.metrics);
  return {
    forwardAuth: createForwardAuth({ ...common, onMisconfigured }),
    robots: createRobotsAnswer({ ...common, fileFor: robots.fileFor }),
  };
}

/** Ready once the ledger is open and each address list is on disk or was tried once. */
function createHealth({ verifier, records }: Parts): Health {
  let triedLists = false;
  void verifier.ready().then(() => {
    triedLists = true;
  });
  return { isReady: () => triedLists && records.isOpen() };
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

function firstPolicies(path: string, log: Logger): readonly LoadedPolicy[] {
  if (path === EMBEDDED_POLICY) log.info("no policies folder here: the embedded policy runs");
  const loaded = loadPolicies(path);
  if (loaded.kind === "faulty") throw new StartError(loaded.faults);
  for (const warning of loaded.warnings) {
    log.warn({ code: warning.code }, formatFault(warning));
  }
  return loaded.policies.map(completeLoading);
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

/** Where other machines can ask, they have to show what only this data directory holds. */
function adminToken({ admin, dataDir }: Settings): string | undefined {
  if (admin === undefined || !isReachable(admin)) return undefined;
  try {
    return openSecret(dataDir, "admin.token").toString("base64url");
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new StartError([`--admin: ${cause}`], { cause: error });
  }
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

async function openAuditFor(settings: Settings, parts: Parts): Promise<AuditSchedule | undefined> {
  const { auditEveryMs: everyMs, allowInsecureSources: allowPrivate } = settings;
  if (everyMs === undefined) return undefined;
  const { openAudit } = await import("./assemble/audit.ts");
  const { sites, metrics, log, records } = parts;
  return openAudit({ everyMs, allowPrivate, sites, ledger: records.ledger, metrics, log });
}

function openGate({ verifier, records, receipts, metrics }: Parts): Gate {
  const limits = createMemoryLimits();
  const { gauge } = metrics;
  gauge("crawlwall_limiter_buckets", "Buckets in memory", () => limits.size);
  gauge("crawlwall_limiter_overflowed", "Charges in overflow buckets", () => limits.overflowed);
  return createGate({
    verifier,
    spend: limits.spend,
    record: records.record,
    seal: receipts.seal,
    newEventId: createEventIds(),
    nowMs: Date.now,
    monotonicMs: () => performance.now(),
  });
}

async function openBeside(
  listening: Listening,
  admin: FastifyInstance,
  where: ListenAddress,
): Promise<Listening> {
  try {
    return await open("--admin", admin, where);
  } catch (error) {
    await listening.drain();
    throw error;
  }
}

async function open(flag: string, app: FastifyInstance, where: ListenAddress): Promise<Listening> {
  try {
    return await listen(app, where);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError([`${flag}: ${reason}`], { cause: error });
  }
}

function infoOf(policy: Policy): PolicyInfo {
  return { site: policy.site.id, hash: policy.hash };
}

function serviceOf(
  parts: Parts,
  listening: Listening,
  operators: Listening | undefined,
  audit: AuditSchedule | undefined,
): Service {
  const { path, log, metrics, verifier, records, receipts, sites } = parts;
  const loader = createLoader();
  const reloads = createReloads({ path, loader, sites, metrics, log });
  const watcher = watchPolicyFiles(path, reloads.request, (error) =>
    log.warn({ err: error }, "policy files are not watched any more: send SIGHUP to reload"),
  );
  return {
    address: listening.address,
    log,
    reload: reloads.request,
    reopenLogs: () => records.reopen(),
    close: async () => {
      watcher.close();
      await reloads.settled();
      loader.close();
      await audit?.close();
      await listening.drain();
      await operators?.drain();
      verifier.close();
      await receipts.settled();
      await records.close();
    },
  };
}
