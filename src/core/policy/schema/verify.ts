import { z } from "zod";
import { ADDRESS_FORMATS, DEFAULT_ADDRESS_FORMAT } from "../../bot/address-document.ts";
import type { AddressSource, BotVerifier } from "../../bot/bot.ts";
import { parseSelector } from "../../bot/json-selector.ts";
import { bareOrigin } from "../../bot/signature-agent.ts";
import { parseCidr } from "../../cidr.ts";
import { parseNameSuffix } from "./name-suffix.ts";
import { duration, line, webUrl } from "./terms.ts";

const MINUTE_MS = 60_000;
const MOST_SOURCES = 16;
const MOST_CIDRS = 10_000;

const pointer = line(1024).superRefine((text, context) => {
  const selector = parseSelector(text);
  if (selector.kind === "bad") {
    const message = `${selector.reason}; write one such as \`/prefixes\``;
    context.addIssue({ code: "custom", message });
  }
});

const source: z.ZodType<AddressSource> = z
  .union(
    [
      webUrl,
      z
        .strictObject({
          url: webUrl.optional(),
          file: line(1024).optional(),
          format: z.enum(ADDRESS_FORMATS).default(DEFAULT_ADDRESS_FORMAT),
          pointer: pointer.optional(),
        })
        .refine(
          ({ url, file }) => (url === undefined) !== (file === undefined),
          "a source has either `url` or `file`; write one of them",
        ),
    ],
    "is no source; write a web address, or a map with `url` or `file`",
  )
  .transform((written): AddressSource => {
    if (typeof written === "string") {
      return { kind: "url", url: written, format: DEFAULT_ADDRESS_FORMAT, pointer: undefined };
    }
    const { url, file, format, pointer: selector } = written;
    return url === undefined
      ? { kind: "file", file: file ?? "", format, pointer: selector }
      : { kind: "url", url, format, pointer: selector };
  });

const cidr = z.string().transform((text, context) => {
  const result = parseCidr(text);
  if (result.kind === "bad") {
    context.addIssue({ code: "custom", message: `${result.reason}; write \`203.0.113.0/24\`` });
    return z.NEVER;
  }
  const { text: canonical, hasHostBits, length } = result.cidr;
  if (hasHostBits) {
    const message = `has bits set after its prefix; write \`${canonical}\` or the address alone`;
    context.addIssue({ code: "custom", message });
  } else if (length === 0) {
    const message = "lets everybody in; write the crawler's own networks";
    context.addIssue({ code: "custom", message });
  }
  return canonical;
});

const suffix = z.string().transform((text, context) => {
  const result = parseNameSuffix(text);
  if (result.kind === "suffix") return result.suffix;
  context.addIssue({ code: "custom", message: result.reason });
  return z.NEVER;
});

/** Plain http is refused when the directory is read, unless `--insecure-sources` allows it. */
const directory = webUrl.transform((text, context) => {
  const origin = bareOrigin(text);
  if (origin !== undefined) return origin;
  const message = `is more than an origin; write \`${URL.parse(text)?.origin ?? "https://bot.example"}\``;
  context.addIssue({ code: "custom", message });
  return z.NEVER;
});

const ipRanges = z
  .strictObject({
    type: z.literal("ip_ranges"),
    sources: z.array(source).min(1).max(MOST_SOURCES),
    refresh: duration(MINUTE_MS, "60s").prefault("12h"),
    stale_action: z.enum(["fail_closed", "use_stale"]).default("fail_closed"),
    max_stale: duration(0, "0s").prefault("0s"),
  })
  .refine((written) => written.stale_action !== "use_stale" || written.max_stale > 0, {
    path: ["stale_action"],
    message: "`use_stale` with `max_stale: 0s` never uses a stale list; write a longer `max_stale`",
  });

const verifier = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("none") }),
  ipRanges,
  z.strictObject({ type: z.literal("static_ranges"), cidrs: z.array(cidr).min(1).max(MOST_CIDRS) }),
  z.strictObject({
    type: z.literal("reverse_dns"),
    allowed_suffixes: z.array(suffix).min(1).max(64),
  }),
  z.strictObject({
    type: z.literal("web_bot_auth"),
    directories: z.array(directory).min(1).max(16),
  }),
]);

const ADVICE = "is no verifier; write `none`, a map with `type`, or a list of such maps";

/** How a bot proves itself: `none`, one verifier, or a list of which any proves. */
export const verifySchema: z.ZodType<readonly BotVerifier[]> = z
  .union([z.literal("none", ADVICE), verifier, z.array(verifier).min(1).max(8)], ADVICE)
  .superRefine((written, context) => {
    if (!Array.isArray(written) || written.length === 1) return;
    for (const [index, { type }] of written.entries()) {
      if (type !== "none") continue;
      const message = "`none` proves nothing beside other verifiers; remove it";
      context.addIssue({ code: "custom", path: [index], message });
    }
  })
  .transform((written): readonly BotVerifier[] => {
    if (written === "none") return [];
    const all = Array.isArray(written) ? written : [written];
    return all.flatMap(toVerifiers);
  });

function toVerifiers(written: z.output<typeof verifier>): readonly BotVerifier[] {
  switch (written.type) {
    case "none":
      return [];
    case "ip_ranges":
      return [
        {
          kind: "ip_ranges",
          sources: written.sources,
          refreshMs: written.refresh,
          staleAction: written.stale_action,
          maxStaleMs: written.max_stale,
        },
      ];
    case "static_ranges":
      return [{ kind: "static_ranges", cidrs: written.cidrs }];
    case "reverse_dns":
      return [{ kind: "reverse_dns", allowedSuffixes: written.allowed_suffixes }];
    case "web_bot_auth":
      return [{ kind: "web_bot_auth", directories: written.directories }];
  }
}
