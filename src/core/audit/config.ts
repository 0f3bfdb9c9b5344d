import { z } from "zod";
import type { Fault } from "../policy/fault.ts";
import type { Policy } from "../policy/policy.ts";
import { line } from "../policy/schema/terms.ts";
import type { DelayAgent } from "../robots/crawl-delay.ts";
import type { SourceDocument } from "../yaml/document.ts";
import { faultAt, faultsOf, ISSUE_OPTIONS } from "../yaml/schema-faults.ts";
import { type AuditTarget, EVERYBODY, parseAuditHost, robotsUrl } from "./target.ts";

/** The `version` of an audit's configuration file. */
const AUDIT_VERSION = "crawlwall.io/audit/v1";

/** What a command line says over what files say. */
export interface AuditOverrides {
  readonly scheme: "http" | "https" | undefined;
  /** Adds to what a file allows; it takes nothing back. */
  readonly allowPrivate: boolean;
  readonly agents: readonly [DelayAgent, ...DelayAgent[]] | undefined;
}

/** Whom to audit. */
export interface AuditPlan {
  readonly targets: readonly AuditTarget[];
  /** Hosts that no request can be sent to: `*` and `*.example.com`. */
  readonly skipped: readonly string[];
}

/** A plan, or all that is wrong with its file. */
export type CompiledAudit =
  | { readonly kind: "plan"; readonly plan: AuditPlan }
  | { readonly kind: "faulty"; readonly errors: readonly Fault[] };

const token = line(200);

const agentSchema = z.union(
  [
    token,
    z.strictObject({
      name: token,
      aliases: z.array(token).max(20).default([]),
      crawl_delay_fallback: z.enum(["rfc9309", "directive"]).default("rfc9309"),
    }),
  ],
  "is no crawler; write its product token, or a map with `name`",
);
const agentsSchema = z.array(agentSchema).min(1).max(100);

const hostSchema = z.strictObject({
  host: line(300).refine(
    (text) => isWildcard(text) || parseAuditHost(text, "https") !== undefined,
    "is no host; write a name such as `www.example.com`, with a port where it needs one",
  ),
  rate_limit_required: z.boolean().default(false),
  user_agents: agentsSchema.optional(),
  scheme: z.enum(["http", "https"]).default("https"),
  allow_private: z.boolean().default(false),
});

const configSchema = z.strictObject({
  version: z.literal(AUDIT_VERSION),
  user_agents: agentsSchema.optional(),
  hosts: z.array(hostSchema).min(1).max(100_000),
});

type HostSource = z.infer<typeof hostSchema>;
type AgentSource = z.infer<typeof agentSchema>;

/** Whether a YAML document is an audit's configuration rather than a policy. */
export function isAuditConfig(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if ("version" in value && typeof value.version === "string") {
    return value.version.startsWith("crawlwall.io/audit");
  }
  return "hosts" in value && !("site" in value);
}

/** Reads an audit's configuration file strictly: every fault of it at once, with its place. */
export function compileAuditConfig(
  document: SourceDocument,
  overrides: AuditOverrides,
): CompiledAudit {
  const parsed = configSchema.safeParse(document.value, ISSUE_OPTIONS);
  if (!parsed.success) {
    const errors = faultsOf(document, parsed.error.issues);
    return {
      kind: "faulty",
      errors: errors.toSorted(
        (left, right) => left.line - right.line || left.column - right.column,
      ),
    };
  }
  const { hosts, user_agents: common } = parsed.data;
  const targets = hosts.map((source) => toTarget(source, common, overrides));
  const errors = repeatedTargets(document, targets);
  if (errors.length > 0) return { kind: "faulty", errors };
  return {
    kind: "plan",
    plan: {
      targets: targets.filter(({ host }) => !isWildcard(host)),
      skipped: hosts.map(({ host }) => host).filter(isWildcard),
    },
  };
}

function repeatedTargets(
  document: SourceDocument,
  targets: readonly AuditTarget[],
): readonly Fault[] {
  const first = new Map<string, number>();
  const errors: Fault[] = [];
  for (const [index, target] of targets.entries()) {
    const url = robotsUrl(target);
    const earlier = first.get(url);
    if (earlier === undefined) {
      first.set(url, index);
      continue;
    }
    const message = `\`${target.host}\` is the host of \`hosts[${earlier}]\` too; remove one`;
    errors.push(faultAt(document, ["hosts", index, "host"], message));
  }
  return errors;
}

function toTarget(
  source: HostSource,
  common: readonly AgentSource[] | undefined,
  overrides: AuditOverrides,
): AuditTarget {
  const scheme = overrides.scheme ?? source.scheme;
  return {
    scheme,
    host: parseAuditHost(source.host, scheme) ?? source.host,
    rateLimitRequired: source.rate_limit_required,
    allowPrivate: source.allow_private || overrides.allowPrivate,
    agents: overrides.agents ?? toAgents(source.user_agents ?? common ?? []),
  };
}

function toAgents(sources: readonly AgentSource[]): readonly [DelayAgent, ...DelayAgent[]] {
  const [first = EVERYBODY, ...rest] = sources.map(
    (source): DelayAgent =>
      typeof source === "string"
        ? { names: [source], fallback: "rfc9309" }
        : { names: [source.name, ...source.aliases], fallback: source.crawl_delay_fallback },
  );
  return [first, ...rest];
}

/** The hosts of policies, with the flag that each site sets: `site.rate_limit_required`. */
export function planPolicies(policies: readonly Policy[], overrides: AuditOverrides): AuditPlan {
  const hosts = policies.flatMap(({ site }) => site.hosts.map((host) => ({ site, host })));
  const scheme = overrides.scheme ?? "https";
  return {
    targets: hosts
      .filter(({ host }) => !isWildcard(host))
      .map(({ site, host }) => ({
        scheme,
        host,
        rateLimitRequired: site.rateLimitRequired,
        allowPrivate: overrides.allowPrivate,
        agents: overrides.agents ?? [EVERYBODY],
      })),
    skipped: hosts.map(({ host }) => host).filter(isWildcard),
  };
}

function isWildcard(host: string): boolean {
  return host === "*" || host.startsWith("*.");
}
