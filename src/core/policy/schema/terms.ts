import { z } from "zod";
import { parseDuration } from "../../duration.ts";

// A message is "what is wrong; what would be right": faults.ts puts the value before it, and keeps
// only the second half where the value has the wrong type altogether.

const ID = /^[a-z0-9][a-z0-9_.-]{0,63}$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not pass
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff]/;
const URL_TEXT = /^https?:\/\/[\x21\x23-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]+$/;

/** Whether a text holds nothing that could end a line of robots.txt or of a header. */
function isPrintable(text: string): boolean {
  return !CONTROL.test(text) && text.isWellFormed();
}

/** An id of ours: site, bot, class, rule. */
export const id: z.ZodString = z
  .string()
  .regex(ID, "is no id; write lower-case letters, digits, `_`, `.` and `-`, at most 64");

/** One line of text, not blank at its ends, that may reach a header, robots.txt or a log. */
export function line(longest: number): z.ZodType<string, string> {
  return z
    .string()
    .min(1, { abort: true, error: "is empty; write a text" })
    .max(longest, { abort: true, error: `is too long; at most ${longest} characters` })
    .refine(isPrintable, {
      abort: true,
      error: "has control characters; write one line of plain text",
    })
    .refine((text) => text.trim() === text, {
      abort: true,
      error: "has blanks at its ends; remove them",
    });
}

/** A whole number within limits. */
export function integer(least: number, most: number): z.ZodInt {
  const advice = `is out of range; write a whole number from ${least} to ${most}`;
  return z.int(advice).min(least, advice).max(most, advice);
}

/** Milliseconds of a duration of at least `leastMs`. */
export function duration(leastMs: number, least: string): z.ZodType<number, string> {
  return z
    .string(NO_DURATION)
    .refine((text) => parseDuration(text) !== undefined, { abort: true, error: NO_DURATION })
    .refine((text) => (parseDuration(text) ?? 0) >= leastMs, `is too short; at least \`${least}\``)
    .meta({ pattern: "^[0-9]{1,9}[smhd]$", examples: ["30s", "15m", "1h", "30d"] })
    .transform((text) => parseDuration(text) ?? 0);
}

const NO_DURATION =
  "is no duration; write a whole number and `s`, `m`, `h` or `d`, such as `30s` or `12h`";

/** An absolute http(s) URL without blanks, quotes, fragments of other syntax, or credentials. */
export const webUrl: z.ZodString = z
  .string()
  .max(2048, "is too long; at most 2048 characters")
  .refine(isWebUrl, "is no web address; write `https://` and a host");

function isWebUrl(text: string): boolean {
  if (!(URL_TEXT.test(text) && URL.canParse(text))) return false;
  const url = new URL(text);
  return url.username === "" && url.password === "";
}
