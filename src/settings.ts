import { join } from "node:path";
import {
  type AddressSet,
  type Cidr,
  createAddressSet,
  parseAddress,
  parseCidr,
} from "./core/cidr.ts";
import { parseDuration } from "./core/duration.ts";
import type { IpPrivacy } from "./core/mask-address.ts";
import type { ListenAddress } from "./server/listen.ts";

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal";

/** What `crawlwall serve` runs with (contract 2). */
export interface Settings {
  /** Undefined for the embedded default policy. */
  readonly policies: string | undefined;
  readonly listen: ListenAddress;
  /** Where operators and scrapers ask; undefined when off. */
  readonly admin: ListenAddress | undefined;
  /** Names, besides loopback's, that the admin listener answers to. */
  readonly adminHosts: readonly string[];
  /** Undefined when a client's address is the one address that the proxy sends. */
  readonly trustedProxies: AddressSet | undefined;
  readonly sharedKeyFile: string | undefined;
  readonly trustRequestId: boolean;
  readonly dataDir: string;
  /** Where the proxy finds the last good robots.txt files while we are down. */
  readonly robotsDir: string;
  /** `sqlite:`, `sqlite:PATH`, `postgres://…` or `off`. */
  readonly ledger: string;
  /** `host:port`, `[ipv6]:port` or an address alone; undefined for the system's. */
  readonly dnsServers: readonly string[] | undefined;
  readonly verifyTimeoutMs: number;
  readonly allowInsecureSources: boolean;
  /** Between two crawl-delay audits; undefined for none. */
  readonly auditEveryMs: number | undefined;
  readonly logLevel: LogLevel;
  readonly logIp: IpPrivacy;
  /** Undefined for stdout. */
  readonly logFile: string | undefined;
}

/** The texts of the flags, as the command line or the environment gives them. */
export interface SettingsTexts {
  readonly policies?: string | undefined;
  readonly listen: string;
  readonly admin: string;
  readonly adminHosts?: string | undefined;
  readonly trustedProxies?: string | undefined;
  readonly sharedKeyFile?: string | undefined;
  readonly trustRequestId?: boolean | undefined;
  readonly dataDir: string;
  readonly robotsDir?: string | undefined;
  /** `sqlite:`, `sqlite:PATH`, `postgres://…` or `off`. */
  readonly ledger: string;
  readonly dnsServers?: string | undefined;
  readonly verifyTimeout: string;
  readonly insecureSources?: boolean | undefined;
  readonly auditEvery?: string | undefined;
  readonly logLevel: string;
  readonly logIp: string;
  readonly logFile?: string | undefined;
}

/** Settings that cannot be run with; holds a line for each of them. */
export class SettingsError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join("\n"));
    this.name = "SettingsError";
    this.faults = faults;
  }
}

/** Reads the flags. Throws a `SettingsError` that holds every fault. */
export function readSettings(texts: SettingsTexts): Settings {
  const faults: string[] = [];
  const settings: Settings = {
    policies: texts.policies,
    listen: readListen("--listen", texts.listen, faults),
    admin: texts.admin === "off" ? undefined : readListen("--admin", texts.admin, faults),
    adminHosts: splitList(texts.adminHosts) ?? [],
    trustedProxies: readTrustedProxies(texts.trustedProxies, faults),
    sharedKeyFile: texts.sharedKeyFile,
    trustRequestId: texts.trustRequestId === true,
    dataDir: texts.dataDir,
    robotsDir: texts.robotsDir ?? join(texts.dataDir, "robots"),
    ledger: texts.ledger,
    dnsServers: readDnsServers(texts.dnsServers, faults),
    verifyTimeoutMs: readTimeout(texts.verifyTimeout, faults),
    allowInsecureSources: texts.insecureSources === true,
    auditEveryMs: readInterval("--audit-every", texts.auditEvery, faults),
    logLevel: readChoice("--log-level", texts.logLevel, LOG_LEVELS, faults) ?? "info",
    logIp: readChoice("--log-ip", texts.logIp, IP_PRIVACIES, faults) ?? "full",
    logFile: texts.logFile,
  };
  checkReach(settings, faults);
  if (faults.length > 0) throw new SettingsError(faults);
  return settings;
}

const LOG_LEVELS: readonly LogLevel[] = ["trace", "debug", "info", "warn", "error", "fatal"];
const IP_PRIVACIES: readonly IpPrivacy[] = ["full", "truncated", "hashed", "none"];

function readChoice<T extends string>(
  flag: string,
  text: string,
  choices: readonly T[],
  faults: string[],
): T | undefined {
  const found = choices.find((choice) => choice === text);
  if (found === undefined) faults.push(`${flag}: \`${text}\` is none of ${choices.join(", ")}`);
  return found;
}

/** `host:port`, `[ipv6]:port` or `unix:/path`. */
function readListen(flag: string, text: string, faults: string[]): ListenAddress {
  if (text.startsWith("unix:/")) return { kind: "unix", path: text.slice("unix:".length) };
  const parts = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const host = parts?.[1] ?? parts?.[2] ?? "";
  const port = Number(parts?.[3]);
  if (parts === null || port > 65_535) {
    faults.push(`${flag}: \`${text}\` is no address; write \`127.0.0.1:9301\` or \`unix:/path\``);
  }
  return { kind: "tcp", host, port };
}

function readTrustedProxies(text: string | undefined, faults: string[]): AddressSet | undefined {
  const texts = splitList(text);
  if (texts === undefined) return undefined;
  const cidrs: Cidr[] = [];
  for (const item of texts) {
    const result = parseCidr(item);
    if (result.kind === "cidr") cidrs.push(result.cidr);
    else faults.push(`--trusted-proxies: \`${item}\` ${result.reason}`);
  }
  return createAddressSet(cidrs);
}

/** Addresses, with a port where it is not 53: a name would need a DNS server to be found. */
function readDnsServers(text: string | undefined, faults: string[]): readonly string[] | undefined {
  const servers = splitList(text);
  for (const server of servers ?? []) {
    if (isServerAddress(server)) continue;
    faults.push(
      `--dns-servers: \`${server}\` is no address; write \`192.0.2.53:53\` or \`[2001:db8::53]:53\``,
    );
  }
  return servers;
}

function isServerAddress(text: string): boolean {
  const parts = /^(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+))(?::(\d{1,5}))?$/.exec(text);
  const port = Number(parts?.[3] ?? 53);
  const address = parseAddress(parts?.[1] ?? parts?.[2] ?? text);
  return address !== undefined && port >= 1 && port <= 65_535;
}

function splitList(text: string | undefined): readonly string[] | undefined {
  const items = (text ?? "")
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
  return items.length === 0 ? undefined : items;
}

/** A duration, also in milliseconds (`500ms`), positive and below the proxy's own time limit. */
function readTimeout(text: string, faults: string[]): number {
  const inMs = /^(\d{1,6})ms$/.exec(text);
  const timeoutMs = inMs === null ? parseDuration(text) : Number(inMs[1]);
  if (timeoutMs === undefined || timeoutMs < 1 || timeoutMs > 60_000) {
    faults.push(
      `--verify-timeout: \`${text}\` is no time from \`1ms\` to \`60s\`; write \`500ms\``,
    );
    return 0;
  }
  return timeoutMs;
}

/** A positive duration, or undefined where none is set. */
function readInterval(
  flag: string,
  text: string | undefined,
  faults: string[],
): number | undefined {
  if (text === undefined || text === "off") return undefined;
  const intervalMs = parseDuration(text) ?? 0;
  if (intervalMs > 0) return intervalMs;
  faults.push(`${flag}: \`${text}\` is no duration; write \`24h\`, or \`off\``);
  return undefined;
}

/** Whoever reaches the listener can forge every input: without a key it stays on this machine. */
function checkReach(settings: Settings, faults: string[]): void {
  const { listen, sharedKeyFile } = settings;
  if (sharedKeyFile !== undefined || !isReachable(listen)) return;
  const host = listen.kind === "tcp" ? listen.host : "";
  faults.push(
    `--listen: \`${host}\` can be reached from other machines; listen on 127.0.0.1 or a unix socket, or name a --shared-key-file`,
  );
}

/** Whether other machines may reach a listener: it is neither a unix socket nor on loopback. */
export function isReachable(address: ListenAddress): boolean {
  return address.kind === "tcp" && !isLoopback(address.host);
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host) || host === "";
}
