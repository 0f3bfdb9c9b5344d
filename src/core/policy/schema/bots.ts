import { z } from "zod";
import type { Bot, BotVerifier, UserAgentMatch } from "../../bot/bot.ts";
import type { Use } from "../../bot/catalog.ts";
import { toMatch } from "./match.ts";
import { id, line } from "./terms.ts";
import { verifySchema } from "./verify.ts";

/** The id and the class of the bot that stands for "no known crawler". */
const UNKNOWN = "unknown";

const LONGEST_TOKEN = 256;

const tokens = (shortest: number) =>
  z
    .array(
      line(LONGEST_TOKEN)
        .refine((text) => text.length >= shortest, {
          abort: true,
          error: `is too short; at least ${shortest} characters`,
        })
        .refine((text) => /[\p{L}\p{N}]/u.test(text), "names nobody; write a product token"),
    )
    .max(256, "is too long; at most 256 entries")
    .default([]);

const match = z
  .strictObject({
    user_agents: tokens(3),
    exact: tokens(1),
    anchored: tokens(2),
    must_not: tokens(1),
    default: z.boolean().default(false),
  })
  .superRefine((written, context) => {
    const claims = [...written.user_agents, ...written.exact, ...written.anchored];
    if (written.default && claims.length + written.must_not.length > 0) {
      const message = "the default bot is whoever no other bot matches; remove its other keys";
      context.addIssue({ code: "custom", message });
    }
    if (!written.default && claims.length === 0) {
      const message = "matches nobody; write `user_agents`, `exact`, `anchored` or `default: true`";
      context.addIssue({ code: "custom", message });
    }
  });

const robotsToken = z
  .string()
  .regex(/^[A-Za-z0-9_.-]{1,64}$/, "is no robots.txt token; write letters, digits, `_`, `.`, `-`");

const details = {
  name: line(128).optional(),
  class: id.optional(),
  operator: line(128).optional(),
  verify: verifySchema.optional(),
  robots_token: robotsToken.optional(),
};

const ownBot = z
  .strictObject({ id, match, ...details })
  .superRefine((written, context) => {
    const complain = (key: string, message: string): void => {
      context.addIssue({ code: "custom", path: [key], message });
    };
    if (!written.match.default) {
      if (written.id === UNKNOWN) complain("id", "`unknown` is the default bot; write another id");
      if (written.class === undefined) complain("class", "required key is missing");
      return;
    }
    if (written.id !== UNKNOWN) complain("id", "the default bot is named `unknown`; write that");
    if ((written.class ?? UNKNOWN) !== UNKNOWN) {
      complain("class", "the default bot has the class `unknown`; write that");
    }
    if ((written.verify ?? []).length > 0) {
      complain("verify", "the default bot claims nothing that could be proved; remove it");
    }
  })
  .transform((written): BotSource => ({ kind: "own", bot: toBot(written) }));

const use: z.ZodType<Use> = z.union(
  [id, z.array(id).min(1, "is empty; write at least one id"), z.strictObject({ class: id })],
  "is no choice; write an id of the catalog, a list of ids, `{class: search}` or `all`",
);

const usedBot = z
  .strictObject({ use, match: match.optional(), ...details })
  .transform(
    (written): BotSource => ({ kind: "use", use: written.use, overrides: toOverrides(written) }),
  );

/** What a policy writes over the catalog's words; undefined where it keeps them. */
export interface BotOverrides {
  readonly name: string | undefined;
  readonly class: string | undefined;
  readonly operator: string | undefined;
  readonly match: UserAgentMatch | undefined;
  readonly verifiers: readonly BotVerifier[] | undefined;
  readonly robotsToken: string | undefined;
}

/** One entry of `bots`. */
export type BotSource =
  | { readonly kind: "own"; readonly bot: Bot }
  | { readonly kind: "use"; readonly use: Use; readonly overrides: BotOverrides };

/** One entry of `bots`: a bot of the policy's own, or some of the catalog's. */
export const botSchema: z.ZodType<BotSource> = z.union(
  [ownBot, usedBot],
  "is no bot; write a map with `id` and `match`, or with `use`",
);

interface WrittenDetails {
  readonly name?: string | undefined;
  readonly class?: string | undefined;
  readonly operator?: string | undefined;
  readonly match?: z.output<typeof match> | undefined;
  readonly verify?: readonly BotVerifier[] | undefined;
  readonly robots_token?: string | undefined;
}

function toOverrides(written: WrittenDetails): BotOverrides {
  return {
    name: written.name,
    class: written.class,
    operator: written.operator,
    match: written.match === undefined ? undefined : toMatch(written.match),
    verifiers: written.verify,
    robotsToken: written.robots_token,
  };
}

function toBot(written: WrittenDetails & { id: string; match: z.output<typeof match> }): Bot {
  const isDefault = written.match.default;
  const unknown = isDefault ? UNKNOWN : "";
  return {
    id: written.id,
    name: written.name ?? written.id,
    class: written.class ?? unknown,
    operator: written.operator ?? "",
    match: toMatch(written.match),
    verifiers: written.verify ?? [],
    robotsToken: written.robots_token ?? (isDefault ? "*" : defaultToken(written)),
    isDefault,
  };
}

/** The first product token, as far as robots.txt can hold it; else the id. */
function defaultToken(written: { id: string; match: z.output<typeof match> }): string {
  const { user_agents, anchored, exact } = written.match;
  const [first = ""] = [...user_agents, ...anchored, ...exact];
  return /^[A-Za-z0-9_.-]{1,64}/.exec(first)?.[0] ?? written.id;
}

/** The bot that is implied where a policy writes none. */
export const UNKNOWN_BOT: Bot = toBot({
  id: UNKNOWN,
  name: "Unknown",
  match: { user_agents: [], exact: [], anchored: [], must_not: [], default: true },
});
