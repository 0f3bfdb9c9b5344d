import { z } from "zod";
import { ISSUE_OPTIONS } from "../../yaml/schema-faults.ts";
import { parseSiteHost } from "../hosts.ts";
import type { Action, RobotsSettings, Sets, Site } from "../policy.ts";
import {
  actionSchema,
  type LedgerSource,
  ledgerSchema,
  type RuleSource,
  ruleSchema,
} from "./actions.ts";
import { type BotSource, botSchema } from "./bots.ts";
import { isForeignDirective } from "./robots-extra.ts";
import { id, line, webUrl } from "./terms.ts";

const MOST_RULES = 20_000;
const SET_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

const host = z.string().transform((text, context) => {
  const result = parseSiteHost(text);
  if (result.kind === "host") return result.host;
  context.addIssue({ code: "custom", message: result.reason });
  return z.NEVER;
});

function refuseTwice(hosts: readonly string[], context: z.core.$RefinementCtx): void {
  for (const [index, name] of hosts.entries()) {
    if (hosts.indexOf(name) === index) continue;
    const message = `\`${name}\` is written twice; remove one`;
    context.addIssue({ code: "custom", path: [index], message });
  }
}

/** The `site` section. */
const siteSchema: z.ZodType<Site> = z
  .strictObject({
    id,
    host: host.optional(),
    hosts: z.array(host).min(1).max(1000).superRefine(refuseTwice).optional(),
    mode: z.enum(["shadow", "observe", "enforce"]).default("shadow"),
    rate_limit_required: z.boolean().default(false),
    case_insensitive_paths: z.boolean().default(false),
  })
  .transform((written, context): Site => {
    const { host: one, hosts: several } = written;
    const [first, ...rest] = several ?? (one === undefined ? [] : [one]);
    if (first === undefined || (one !== undefined && several !== undefined)) {
      const message = "a site has either `host` or `hosts`; write one of them";
      context.addIssue({ code: "custom", message });
      return z.NEVER;
    }
    return {
      id: written.id,
      hosts: [first, ...rest],
      mode: written.mode,
      rateLimitRequired: written.rate_limit_required,
      caseInsensitivePaths: written.case_insensitive_paths,
    };
  });

/** The `runtime` section. */
interface RuntimeSource {
  readonly failMode: "block" | "allow";
  readonly defaultAction: Action;
  readonly verify: "when_needed" | "always";
}

const runtimeSchema: z.ZodType<RuntimeSource> = z
  .strictObject({
    fail_mode: z.enum(["block", "allow"]).default("block"),
    default_action: actionSchema.prefault("allow"),
    verify: z.enum(["when_needed", "always"]).default("when_needed"),
  })
  .transform((written) => ({
    failMode: written.fail_mode,
    defaultAction: written.default_action,
    verify: written.verify,
  }));

const signal = z.enum(["yes", "no"]).optional();

const robotsSchema: z.ZodType<RobotsSettings> = z
  .strictObject({
    serve: z.boolean().default(false),
    in_shadow: z.enum(["publish", "pass"]).default("publish"),
    sitemaps: z.array(webUrl).max(1000).default([]),
    content_signals: z
      .strictObject({ search: signal, "ai-input": signal, "ai-train": signal })
      .prefault({}),
    extra: z
      .array(
        line(2048).refine(
          (text) => !isForeignDirective(text),
          "is a directive that the rules speak for; write a rule instead",
        ),
      )
      .max(1000)
      .default([]),
  })
  .transform((written) => ({
    serve: written.serve,
    inShadow: written.in_shadow,
    sitemaps: written.sitemaps,
    contentSignals: Object.fromEntries(
      Object.entries(written.content_signals).flatMap(([name, answer]) =>
        answer === undefined ? [] : [[name, answer] as const],
      ),
    ),
    extra: written.extra,
  }));

/** The `receipts` section. */
interface ReceiptsSource {
  readonly enabled: boolean;
  readonly keyFile: string | undefined;
}

const receiptsSchema: z.ZodType<ReceiptsSource> = z
  .strictObject({
    enabled: z.boolean().default(true),
    signer: z
      .strictObject({
        type: z.literal("ed25519").default("ed25519"),
        key_file: line(1024).optional(),
      })
      .prefault({}),
  })
  .transform(({ enabled, signer }) => ({ enabled, keyFile: signer.key_file }));

const setAdvice = "is no set; write a list of texts or a list of whole numbers";

const setsSchema: z.ZodType<Sets> = z
  .record(
    z.string().regex(SET_NAME, "is no name of a set; write letters, digits and `_`"),
    z.union(
      [z.array(z.string().refine((text) => text.isWellFormed())), z.array(z.int())],
      setAdvice,
    ),
  )
  .transform(
    (written) => new Map(Object.entries(written).map(([name, items]) => [name, toSet(items)])),
  );

function toSet(
  items: readonly string[] | readonly number[],
): readonly string[] | readonly bigint[] {
  const numbers = items.filter((item) => typeof item === "number");
  return numbers.length > 0
    ? numbers.map(BigInt)
    : items.filter((item) => typeof item === "string");
}

/** A policy as written, checked part by part, with defaults. */
export interface PolicySource {
  readonly version: "crawlwall.io/v1";
  readonly site: Site;
  readonly runtime: RuntimeSource;
  readonly robots: RobotsSettings;
  readonly ledger: LedgerSource;
  readonly receipts: ReceiptsSource;
  readonly bots: readonly BotSource[];
  readonly sets: Sets;
  readonly rules: readonly RuleSource[];
}

const policySchema: z.ZodType<PolicySource> = z.strictObject({
  version: z.literal("crawlwall.io/v1").default("crawlwall.io/v1"),
  site: siteSchema,
  runtime: runtimeSchema.prefault({}),
  robots: robotsSchema.prefault({}),
  ledger: ledgerSchema.prefault({}),
  receipts: receiptsSchema.prefault({}),
  bots: z.array(botSchema).max(2000).default([]),
  sets: setsSchema.prefault({}),
  rules: z.array(ruleSchema).max(MOST_RULES).default([]),
});

/** What is right in a policy's values, and every issue with the others. */
export interface PolicyReading {
  /** All of it, when nothing is wrong. */
  readonly source: PolicySource | undefined;
  /** Undefined when the sets themselves are faulty. */
  readonly sets: Sets | undefined;
  /** By index; undefined where an entry is faulty. */
  readonly bots: readonly (BotSource | undefined)[];
  readonly issues: readonly z.core.$ZodIssue[];
}

/** Checks the values of a policy. Parts that are right are there even when others are not. */
export function readPolicy(value: unknown): PolicyReading {
  const whole = policySchema.safeParse(value, ISSUE_OPTIONS);
  if (whole.success) {
    const { sets, bots } = whole.data;
    return { source: whole.data, sets, bots, issues: [] };
  }
  const sets = setsSchema.safeParse(memberOf(value, "sets") ?? {});
  return {
    source: undefined,
    sets: sets.data,
    bots: itemsOf(memberOf(value, "bots")).map((bot) => botSchema.safeParse(bot).data),
    issues: whole.error.issues,
  };
}

/** The JSON Schema (2020-12) of a policy file, from the definition that checks it. */
export function policyJsonSchema(): Readonly<Record<string, unknown>> {
  return {
    ...z.toJSONSchema(policySchema, { io: "input" }),
    title: "CrawlWall policy",
  };
}

/** One member of what may be a map. */
export function memberOf(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[key];
}

/** The items of what may be a list. */
export function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
