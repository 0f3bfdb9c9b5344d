import { Buffer } from "node:buffer";
import { expect, test } from "vitest";
import { foldCase, plainUserAgent } from "../../../src/core/bot/user-agent.ts";

/** As Node hands over a header value: one char a byte. */
function asHeader(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

test.each([
  ["full-width letters", "Ｇｏｏｇｌｅｂｏｔ/2.1"],
  ["mathematical letters", "𝐆𝐨𝐨𝐠𝐥𝐞𝐛𝐨𝐭/2.1"],
  ["a zero-width space", "Goo\u200bglebot/2.1"],
  ["a soft hyphen", "Goo\u00adglebot/2.1"],
  ["a byte order mark", "\ufeffGooglebot/2.1"],
  ["a right-to-left mark", "Google\u202ebot/2.1"],
  ["a variation selector", "Googlebot\ufe0f/2.1"],
  ["combining marks", "G\u0332oogleb\u0301ot/2.1"],
  ["an invisible tag character", "Google\u{e0041}bot/2.1"],
])("%s: read as a person sees it, from text and from header bytes", (_, disguised) => {
  expect(plainUserAgent(disguised)).toBe("Googlebot/2.1");
  expect(plainUserAgent(asHeader(disguised))).toBe("Googlebot/2.1");
});

test("bytes that are no UTF-8 neither hide what is, nor fail", () => {
  expect(plainUserAgent(`\xff\xfe${asHeader("Ｇ")}PTBot\xc3`)).toBe(
    `${asHeader("\xff\xfe")}GPTBot${asHeader("\xc3")}`,
  );
});

test("the first 2 KiB count, of plain ASCII and of a disguise", () => {
  expect(plainUserAgent("x".repeat(65_536))).toBe("x".repeat(2048));
  expect(plainUserAgent("é".repeat(65_536))).toHaveLength(4096);
});

test("only ASCII letters change case", () => {
  expect(foldCase("GPTBot Ä \u212a")).toBe("gptbot Ä \u212a");
});
