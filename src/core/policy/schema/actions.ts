import { z } from "zod";
import type { Action, Limit, LimitKey, Price } from "../policy.ts";
import { LIMIT_FIELDS, parseLimitKey } from "./limit-key.ts";
import { duration, id, integer, line, webUrl } from "./terms.ts";

const MOST_PER_MINUTE = 1_000_000;
const DEFAULT_STATUS = 403;
const DEFAULT_REASON = "blocked";
const AMOUNT = /^(?:0|[1-9]\d{0,11})(?:\.\d{1,12})?$/;
const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf("currency"));

// The document keeps `amount: 0.30` as the text `0.30`, so a number never gets here.
const amount = z
  .string("is no sum; write a decimal number such as `0.002`")
  .refine(
    (text) => AMOUNT.test(text) && /[1-9]/.test(text),
    "is no sum; write a positive decimal number without exponent, such as `0.002`",
  )
  .meta({ type: ["string", "number"] });

const currency = z
  .string()
  .refine((code) => CURRENCIES.has(code), "is no currency; write an ISO 4217 code such as `USD`");

const price: z.ZodType<Price> = z.strictObject({
  amount,
  currency,
  unit: z.literal("request").default("request"),
});

const limitKey: z.ZodType<LimitKey, string> = z
  .string()
  .meta({ anyOf: [{ enum: LIMIT_FIELDS }, { pattern: "^request\\.headers\\..+$" }] })
  .transform((text, context) => {
    const result = parseLimitKey(text);
    if (result.kind === "key") return result.key;
    context.addIssue({ code: "custom", message: result.reason });
    return z.NEVER;
  });

const limit: z.ZodType<Limit> = z
  .strictObject({
    key: limitKey,
    rpm: integer(1, MOST_PER_MINUTE),
    burst: integer(1, MOST_PER_MINUTE).optional(),
  })
  .transform(({ key, rpm, burst }) => ({ key, rpm, burst: burst ?? rpm }));

const block = z
  .strictObject({
    type: z.literal("block"),
    status: integer(400, 599).default(DEFAULT_STATUS),
    reason: line(256).default(DEFAULT_REASON),
    price: price.optional(),
    terms: webUrl.optional(),
  })
  .superRefine((action, context) => {
    for (const key of ["price", "terms"] as const) {
      if (action[key] === undefined || action.status === 402) continue;
      const message = `\`${key}\` goes with status 402 alone; write \`status: 402\` or remove \`${key}\``;
      context.addIssue({ code: "custom", path: [key], message });
    }
  });

const mapping = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("allow") }),
  block,
  z.strictObject({ type: z.literal("rate_limit"), limit }),
  z.strictObject({ type: z.literal("allow_metered"), price }),
]);

const ACTION_ADVICE =
  "is no action; write `allow`, `block`, or a map with `type` and what belongs to it";

/** What a rule does: `allow` or `block` alone, or a map with `type`. */
export const actionSchema: z.ZodType<Action> = z
  .union([z.enum(["allow", "block"], ACTION_ADVICE), mapping], ACTION_ADVICE)
  .transform((written) => toAction(typeof written === "string" ? { type: written } : written));

function toAction(
  written: z.output<typeof mapping> | { readonly type: "allow" | "block" },
): Action {
  switch (written.type) {
    case "allow":
      return { kind: "allow" };
    case "block":
      return {
        kind: "block",
        status: DEFAULT_STATUS,
        reason: DEFAULT_REASON,
        price: undefined,
        terms: undefined,
        ...withoutType(written),
      };
    case "rate_limit":
      return { kind: "rate_limit", limit: written.limit };
    case "allow_metered":
      return { kind: "allow_metered", price: written.price };
  }
}

function withoutType<T extends { readonly type: string }>({
  type: _,
  ...rest
}: T): Omit<T, "type"> {
  return rest;
}

/** A rule as written, with defaults; its condition is not parsed yet. */
export interface RuleSource {
  readonly id: string;
  readonly priority: number;
  readonly when: string;
  readonly action: Action;
  readonly mode: "enforce" | "shadow";
  readonly receipt: boolean;
  readonly tags: readonly string[];
}

/** One entry of `rules`. */
export const ruleSchema: z.ZodType<RuleSource> = z
  .strictObject({
    id: id.refine(
      (name) => !name.startsWith("runtime."),
      "starts with `runtime.`, which is ours; write another id",
    ),
    priority: integer(-1_000_000, 1_000_000),
    when: z
      .string()
      .refine((text) => text.trim() !== "", "is empty; write a condition such as `bot.claimed`")
      .meta({ type: ["string", "boolean"] }),
    action: actionSchema,
    audit: z
      .strictObject({
        receipt: z.boolean().default(false),
        tags: z.array(line(64)).max(32, "is too long; at most 32 tags").default([]),
      })
      .prefault({}),
    mode: z.enum(["enforce", "shadow"]).default("enforce"),
  })
  .transform(({ audit, ...rule }) => ({ ...rule, receipt: audit.receipt, tags: audit.tags }));

/** The `ledger` section. */
export interface LedgerSource {
  readonly enabled: boolean;
  readonly retentionMs: number;
  readonly ip: "full" | "truncated" | "hashed" | "none" | undefined;
  readonly query: "keep" | "drop";
}

export const ledgerSchema: z.ZodType<LedgerSource> = z
  .strictObject({
    enabled: z.boolean().default(true),
    retention: duration(1, "1s").prefault("90d"),
    ip: z.enum(["full", "truncated", "hashed", "none"]).optional(),
    query: z.enum(["keep", "drop"]).default("keep"),
  })
  .transform(({ retention, ip, ...rest }) => ({ ...rest, ip, retentionMs: retention }));
