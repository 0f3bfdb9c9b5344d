import { nearest } from "../../nearest.ts";
import type { LimitField, LimitKey } from "../policy.ts";

/** Every input of one value that can select a bucket, besides header fields. */
export const LIMIT_FIELDS: readonly LimitField[] = [
  "bot.id",
  "bot.name",
  "bot.class",
  "bot.claimed",
  "bot.verified",
  "bot.verification",
  "bot.verifiable",
  "bot.operator",
  "request.host",
  "request.method",
  "request.path",
  "request.raw_path",
  "request.query",
  "request.scheme",
  "request.ip",
  "request.user_agent",
  "labels.bot_id",
  "labels.host",
  "labels.path",
  "site.id",
  "site.host",
  "site.mode",
];

const HEADER = "request.headers.";
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;

/** The bucket selector that a policy writes, or what is wrong with it. */
export type LimitKeyResult =
  | { readonly kind: "key"; readonly key: LimitKey }
  | { readonly kind: "bad"; readonly reason: string };

/** Reads `limit.key`: an input of one value, or `request.headers.<name>` in any case. */
export function parseLimitKey(text: string): LimitKeyResult {
  const field = LIMIT_FIELDS.find((candidate) => candidate === text);
  if (field !== undefined) return { kind: "key", key: { kind: "field", field } };
  const name = text.startsWith(HEADER) ? text.slice(HEADER.length) : undefined;
  if (name !== undefined && HEADER_NAME.test(name)) {
    return { kind: "key", key: { kind: "header", name: name.toLowerCase() } };
  }
  if (text === "request.headers" || name !== undefined) {
    return { kind: "bad", reason: "names no header; write `request.headers.<name>`" };
  }
  const near = nearest(text, LIMIT_FIELDS);
  const advice =
    near === undefined
      ? "write an input such as `bot.id`, `request.ip` or `request.headers.<name>`"
      : `did you mean \`${near}\`?`;
  return { kind: "bad", reason: `is no known input; ${advice}` };
}
