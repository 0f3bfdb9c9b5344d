import { readFileSync } from "node:fs";
import {
  type AuditOverrides,
  type AuditPlan,
  compileAuditConfig,
  isAuditConfig,
  planPolicies,
} from "../../core/audit/config.ts";
import { type AuditTarget, EVERYBODY, parseAuditHost } from "../../core/audit/target.ts";
import type { DelayAgent } from "../../core/robots/crawl-delay.ts";
import { readDocument } from "../../core/yaml/document.ts";
import { loadPolicies } from "../../load.ts";
import { CannotRun, cannotRunFor } from "../exit.ts";

/** What the flags say about whom to audit. */
export interface PlanOptions {
  readonly config?: string;
  readonly host: readonly string[];
  readonly rateLimitRequired?: boolean;
  readonly agent: readonly string[];
  readonly allowPrivate?: boolean;
  readonly scheme?: "http" | "https";
  readonly robotsFile?: string;
}

/** Whom a command line means; throws `CannotRun` with every fault, and where nobody is left. */
export function planAudit(options: PlanOptions): AuditPlan {
  const overrides: AuditOverrides = {
    scheme: options.scheme,
    allowPrivate: options.allowPrivate === true,
    agents: agentsOf(options.agent),
  };
  checkUsage(options);
  const { config } = options;
  const plan = config === undefined ? planHosts(options, overrides) : planConfig(config, overrides);
  if (plan.targets.length === 0) {
    const skipped = plan.skipped.join(", ");
    throw new CannotRun([`no host to audit; ${skipped} stands for many, name one of them`]);
  }
  return plan;
}

function checkUsage({ config, host, rateLimitRequired, robotsFile }: PlanOptions): void {
  const hasHost = host.length > 0;
  if (config !== undefined && hasHost) {
    throw new CannotRun(["`--config` and `--host` exclude each other"]);
  }
  if (config === undefined && !hasHost && robotsFile === undefined) {
    throw new CannotRun(["no host to audit; give `--config FILE` or `--host HOST`"]);
  }
  if (config !== undefined && rateLimitRequired === true) {
    throw new CannotRun([
      "`--rate-limit-required` goes with `--host`; a file says it host by host",
    ]);
  }
}

function agentsOf(names: readonly string[]): AuditOverrides["agents"] {
  const blank = names.find((name) => name.trim() === "");
  if (blank !== undefined) throw new CannotRun(["--agent: is empty; write a product token or `*`"]);
  const agents = [...new Set(names)].map((name): DelayAgent => ({ ...EVERYBODY, names: [name] }));
  const [first, ...rest] = agents;
  return first === undefined ? undefined : [first, ...rest];
}

/** A file on disk needs no host; it is judged as that of this machine. */
function planHosts(options: PlanOptions, overrides: AuditOverrides): AuditPlan {
  const names = options.host.length > 0 ? options.host : ["localhost"];
  const skipped = names.filter((name) => name === "*" || name.startsWith("*."));
  const targets = names
    .filter((name) => !skipped.includes(name))
    .map((name) => targetOf(name, options.rateLimitRequired === true, overrides));
  return { targets: [...new Map(targets.map((each) => [each.host, each])).values()], skipped };
}

function targetOf(
  name: string,
  rateLimitRequired: boolean,
  overrides: AuditOverrides,
): AuditTarget {
  const scheme = overrides.scheme ?? "https";
  const host = parseAuditHost(name, scheme);
  if (host === undefined) {
    throw new CannotRun([
      `--host: \`${name}\` is no host; write a name such as \`www.example.com\`, with a port where it needs one`,
    ]);
  }
  const agents = overrides.agents ?? [EVERYBODY];
  return { scheme, host, rateLimitRequired, allowPrivate: overrides.allowPrivate, agents };
}

function planConfig(path: string, overrides: AuditOverrides): AuditPlan {
  const { document, faults } = readDocument(path, readText(path));
  if (document !== undefined && isAuditConfig(document.value)) {
    const compiled = compileAuditConfig(document, overrides);
    if (compiled.kind === "plan" && faults.length === 0) return compiled.plan;
    throw cannotRunFor([...faults, ...(compiled.kind === "faulty" ? compiled.errors : [])]);
  }
  const loaded = loadPolicies(path);
  if (loaded.kind === "faulty") throw new CannotRun(loaded.faults);
  return planPolicies(loaded.policies, overrides);
}

/** Empty for a folder, and for what cannot be read: loading policies will say why. */
function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
