import type { Logger } from "pino";
import type { DecisionEvent } from "../core/event.ts";
import { type EventPrivacy, protectEvent } from "../core/ledger/privacy.ts";
import type { Policy } from "../core/policy/policy.ts";
import { createTurn, type TurnOptions } from "../core/turn.ts";
import { type DecisionLog, openDecisionLog } from "../io/decision-log.ts";
import { createAddressHash, openSecret } from "../io/keys.ts";
import { RefusedError } from "../io/ledger/database.ts";
import type { Ledger } from "../io/ledger/ledger.ts";
import { openLedger } from "../io/ledger/open.ts";
import type { Metrics } from "../io/metrics.ts";
import type { LoadedPolicy } from "../load/loaded.ts";
import type { Settings } from "../settings.ts";
import { StartError } from "./start-error.ts";

/** Where events go: the decision log, the numbers and the ledger, each with its own privacy. */
export interface Records {
  /** Never throws, never waits. */
  record(event: DecisionEvent, policy: Policy | undefined): void;
  /** What the ledger keeps of an event. */
  protect(event: DecisionEvent, policy: Policy | undefined): DecisionEvent;
  /** Makes sure that the policies' privacy can be kept. Throws a `StartError`. */
  check(policies: readonly Policy[]): void;
  /** Takes the policies that decide from now on. */
  adopt(loaded: readonly LoadedPolicy[]): void;
  /** Undefined for `--ledger off`. */
  readonly ledger: Ledger | undefined;
  isOpen(): boolean;
  reopen(): void;
  /** Writes what is waiting. */
  close(): Promise<void>;
}

/** Opens the decision log and the ledger. Rejects with a `StartError`. */
export async function openRecords(
  settings: Settings,
  metrics: Metrics,
  log: Logger,
): Promise<Records> {
  const hashAddress = lazyAddressHash(settings.dataDir);
  const decisions = await openDecisions(settings, hashAddress, log);
  const ledger = await openLedgerFor(settings, log);
  measure(metrics, decisions, ledger);
  const privacyOf = (policy: Policy | undefined): EventPrivacy => ({
    ip: policy?.ledger.ip ?? settings.logIp,
    query: policy?.ledger.query ?? "keep",
  });
  const protect = (event: DecisionEvent, policy: Policy | undefined): DecisionEvent =>
    protectEvent(event, privacyOf(policy), hashAddress);
  const keep = (event: DecisionEvent, policy: Policy | undefined): void => {
    decisions.record(event);
    metrics.record(event);
    if (policy?.ledger.enabled !== false) ledger?.record(protect(event, policy));
  };
  // Nobody waits for a record, and the code that makes one is only in the processor's caches when it
  // has just run: a handful in one go costs a fraction of one after each answer.
  const turn = createTurn(TURN, (made: readonly Made[]) => {
    for (const [event, policy] of made) keep(event, policy);
  });
  return {
    record: (event, policy) => turn.add([event, policy]),
    protect,
    check: (policies) => {
      if (policies.some((policy) => policy.ledger.ip === "hashed")) requireKey(hashAddress);
    },
    adopt: (loaded) => adopt(ledger, loaded),
    ledger,
    isOpen: () => ledger?.isOpen() ?? true,
    reopen: () => {
      turn.end();
      decisions.reopen();
    },
    close: async () => {
      turn.end();
      await Promise.all([decisions.close(), ledger?.close()]);
    },
  };
}

/** More events than this are handed on at once: memory stays bounded, and no turn takes long. */
const TURN: TurnOptions = { most: 256, defer: setImmediate };

type Made = readonly [DecisionEvent, Policy | undefined];

/** The secret is made when the first address is hashed, which most installations never do. */
function lazyAddressHash(dataDir: string): (ip: string) => string {
  let hash: ((ip: string) => string) | undefined;
  return (ip) => {
    hash ??= createAddressHash(openSecret(dataDir, "address.key"));
    return hash(ip);
  };
}

/** What cannot be hashed must be known before the first event, as there is no answer to fail then. */
function requireKey(hashAddress: (ip: string) => string): void {
  try {
    hashAddress("");
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new StartError([`the key for hashing addresses: ${cause}`], { cause: error });
  }
}

async function openDecisions(
  settings: Settings,
  hashAddress: (ip: string) => string,
  log: Logger,
): Promise<DecisionLog> {
  const { logFile: file, logIp: ip } = settings;
  // A secret that cannot be had must stop the start, not the first request.
  if (ip === "hashed") requireKey(hashAddress);
  const onError = (error: Error): void =>
    log.error({ err: error }, "the decision log cannot be written");
  try {
    return await openDecisionLog({ file, ip, hashAddress, onError });
  } catch (error) {
    throw new StartError([`--log-file: ${file} cannot be opened`], { cause: error });
  }
}

async function openLedgerFor(settings: Settings, log: Logger): Promise<Ledger | undefined> {
  try {
    return await openLedger(settings.ledger, {
      dataDir: settings.dataDir,
      log: (level, fields, message) => log[level](fields, message),
    });
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    throw new StartError([`--ledger: ${error.message}`], { cause: error });
  }
}

function adopt(ledger: Ledger | undefined, loaded: readonly LoadedPolicy[]): void {
  ledger?.adopt(
    loaded.map(({ policy: { hash, site }, document }) => ({ hash, siteId: site.id, document })),
    new Map(loaded.map(({ policy }) => [policy.site.id, policy.ledger.retentionMs])),
  );
}

function measure(metrics: Metrics, decisions: DecisionLog, ledger: Ledger | undefined): void {
  metrics.gauge("crawlwall_decision_log_dropped", "Lines that were lost", decisions.dropped);
  if (ledger === undefined) return;
  const { gauge } = metrics;
  gauge("crawlwall_ledger_queued", "Events that wait", () => ledger.counters().queued);
  gauge("crawlwall_ledger_written", "Events written", () => ledger.counters().written);
  gauge("crawlwall_ledger_dropped", "Events lost", () => ledger.counters().dropped);
  gauge("crawlwall_ledger_rejected", "Events refused", () => ledger.counters().rejected);
  gauge(
    "crawlwall_ledger_queued_bytes",
    "What waits takes up",
    () => ledger.counters().queuedBytes,
  );
  gauge("crawlwall_ledger_errors", "Writes that failed", () => ledger.counters().errors);
}
