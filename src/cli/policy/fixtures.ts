import { z } from "zod";
import { VERIFICATIONS, type Verification } from "../../core/bot/bot.ts";
import { parseAddress } from "../../core/cidr.ts";
import type { DecisionAction } from "../../core/decision.ts";
import { type Fault, formatFault } from "../../core/policy/fault.ts";
import { readDocument } from "../../core/yaml/document.ts";
import { faultsOf, ISSUE_OPTIONS } from "../../core/yaml/schema-faults.ts";

/** What a case asks; the host is the policy's where none is written. */
interface FixtureRequest {
  readonly user_agent: string;
  readonly path: string;
  readonly ip: string;
  readonly method: string;
  readonly host?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly query?: string | undefined;
  readonly verification?: Verification | undefined;
}

/** What a case expects; fields that are absent do not matter. */
export interface FixtureExpectation {
  readonly bot_id?: string | undefined;
  readonly bot_class?: string | undefined;
  readonly claimed?: boolean | undefined;
  readonly verified?: boolean | undefined;
  readonly verification?: Verification | undefined;
  readonly rule_id?: string | undefined;
  readonly action?: DecisionAction | undefined;
  readonly reason?: string | null | undefined;
  readonly status?: number | undefined;
  readonly enforced?: boolean | undefined;
  /** Ids of shadow rules that match, in order. */
  readonly shadowed?: readonly string[] | undefined;
}

/** One case of a fixture file. */
export interface Fixture {
  readonly name: string;
  readonly request: FixtureRequest;
  readonly expect: FixtureExpectation;
}

/** The address of a case that names none: of a network that is kept for documentation. */
const ANY_ADDRESS = "192.0.2.1";

const outcome = z.enum(VERIFICATIONS);

const request: z.ZodType<FixtureRequest> = z.strictObject({
  user_agent: z.string().default(""),
  path: z.string().default("/"),
  ip: z
    .string()
    .refine((text) => parseAddress(text) !== undefined, "is no address; write `203.0.113.7`")
    .default(ANY_ADDRESS),
  method: z.string().min(1).default("GET"),
  host: z.string().min(1).optional(),
  headers: z.record(z.string().min(1), z.union([z.string(), z.array(z.string())])).default({}),
  query: z.string().optional(),
  verification: outcome.optional(),
});

const expectation: z.ZodType<FixtureExpectation> = z
  .strictObject({
    bot_id: z.string().optional(),
    bot_class: z.string().optional(),
    claimed: z.boolean().optional(),
    verified: z.boolean().optional(),
    verification: outcome.optional(),
    rule_id: z.string().optional(),
    action: z
      .enum(["allow", "allow_metered", "rate_limit", "rate_limit_exceeded", "block"])
      .optional(),
    reason: z.string().nullable().optional(),
    status: z.int().optional(),
    enforced: z.boolean().optional(),
    shadowed: z.array(z.string()).optional(),
  })
  .refine((fields) => Object.keys(fields).length > 0, "expects nothing; write at least one field");

const file: z.ZodType<{ readonly fixtures: readonly Fixture[] }> = z.strictObject({
  fixtures: z
    .array(z.strictObject({ name: z.string().min(1), request, expect: expectation }))
    .min(1),
});

/** The cases of a fixture file, or a line for each thing that is wrong with it. */
export type Fixtures =
  | { readonly kind: "fixtures"; readonly fixtures: readonly Fixture[] }
  | { readonly kind: "faulty"; readonly faults: readonly string[] };

/** Reads a fixture file strictly: an expectation that is misspelt would pass whatever happens. */
export function parseFixtures(name: string, text: string): Fixtures {
  const { document, faults } = readDocument(name, text);
  if (document === undefined) return faulty(faults);
  const parsed = file.safeParse(document.value, ISSUE_OPTIONS);
  const all = [...faults, ...(parsed.success ? [] : faultsOf(document, parsed.error.issues))];
  if (!parsed.success || all.length > 0) return faulty(all);
  return { kind: "fixtures", fixtures: parsed.data.fixtures };
}

function faulty(faults: readonly Fault[]): Fixtures {
  return { kind: "faulty", faults: faults.map(formatFault) };
}
