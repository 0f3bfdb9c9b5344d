import { Buffer } from "node:buffer";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Bot, UserAgentMatch } from "../../../src/core/bot/bot.ts";
import { createIdentifier, createMatcher } from "../../../src/core/bot/identify.ts";

function bot(id: string, match: Partial<UserAgentMatch>): Bot {
  return {
    id,
    name: id,
    class: "search",
    operator: "",
    match: { userAgents: [], exact: [], anchored: [], mustNot: [], ...match },
    verifiers: [],
    robotsToken: id,
    isDefault: false,
  };
}

const UNKNOWN: Bot = { ...bot("unknown", {}), isDefault: true };

const BOTS: readonly Bot[] = [
  bot("googlebot", { userAgents: ["Googlebot"], mustNot: ["like Googlebot"] }),
  bot("googlebot-image", { userAgents: ["Googlebot-Image"] }),
  bot("google-app", { exact: ["Google"] }),
  bot("semrushbot", { userAgents: ["SemrushBot", "SemrushBot-"] }),
  bot("semrushbot-ba", { userAgents: ["SemrushBot-BA"] }),
  bot("pingdom", { userAgents: ["Pingdom.com_bot_version_"] }),
  bot("whatsapp", { anchored: ["WhatsApp/"] }),
  bot("viber", { anchored: ["Viber"] }),
  bot("sogou", { userAgents: ["Sogou web spider"] }),
  bot("umlaut", { userAgents: ["Bücherbot"] }),
];

const identify = createIdentifier(BOTS, UNKNOWN);

test.each([
  ["Googlebot/2.1 (+http://www.google.com/bot.html)", "googlebot"],
  ["Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "googlebot"],
  ["Mozilla/5.0 (compatible;Googlebot;+http://www.google.com/bot.html)", "googlebot"],
  ["Mozilla/5.0+(compatible;+Googlebot+)", "googlebot"],
  ["googleBOT", "googlebot"],
  ["(Googlebot)", "googlebot"],
  ["Googlebot0.5.0", "googlebot"],
  ["Googlebot_2", "googlebot"],
  ["Googlebot-2", "googlebot"],
  ["Googlebot-", "googlebot"],
  ["Googlebot~bl", "googlebot"],
  ["Sogou web spider/4.0(+http://www.sogou.com)", "sogou"],
  ["Pingdom.com_bot_version_1.4_(http://www.pingdom.com/)", "pingdom"],
])("`%s` claims %s", (userAgent, id) => {
  expect(identify(userAgent).id).toBe(id);
});

test.each([
  "MyGooglebot/1.0",
  "7Googlebot",
  "Fake-Googlebot",
  "my_Googlebot",
  "Googlebots/1.0",
  "Googlebot-Evil/1.0",
  "GooglebotX",
  "",
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0",
])("`%s` claims nobody: no boundary stands at the token", (userAgent) => {
  expect(identify(userAgent)).toBe(UNKNOWN);
});

test.each([
  ["Googlebot-Image/1.0", "googlebot-image"],
  ["Googlebot/2.1 Googlebot-Image/1.0", "googlebot-image"],
  ["Googlebot-Image/1.0 Googlebot/2.1", "googlebot-image"],
  ["SemrushBot/7~bl", "semrushbot"],
  ["SemrushBot-SA/0.97", "semrushbot"],
  ["SemrushBot-BA/1.0", "semrushbot-ba"],
])("the longest token in `%s` wins: %s", (userAgent, id) => {
  expect(identify(userAgent).id).toBe(id);
});

test("of equally long tokens, that of the bot written first wins", () => {
  const [first, second] = [
    bot("first", { userAgents: ["abcbot"] }),
    bot("second", { userAgents: ["xyzbot", "ABCbot"] }),
  ];
  expect(createIdentifier([first, second], UNKNOWN)("xyzbot abcbot")).toBe(first);
  expect(createIdentifier([second, first], UNKNOWN)("abcbot")).toBe(second);
});

test.each([
  ["Google", "google-app"],
  ["google", "google-app"],
  ["Google/1.0", "unknown"],
  ["GoogleApp", "unknown"],
  ["Mozilla/5.0 (Linux; Android 7.1.2; Google Pixel 2)", "unknown"],
])("a whole value claims where nothing else stands: `%s` is %s", (userAgent, id) => {
  expect(identify(userAgent).id).toBe(id);
});

test.each([
  ["WhatsApp/2.16.1/i", "whatsapp"],
  ["Mozilla/5.0 (Windows NT 10.0) WhatsApp/2.2206.9 Chrome/96.0 Electron/16.0.6", "unknown"],
  ["Viber", "viber"],
  ["Viber/13", "viber"],
  ["Vibertalk", "unknown"],
  ["Mozilla/5.0 (Macintosh) Safari/537.36 Viber", "unknown"],
])("an anchored token counts at the start alone: `%s` is %s", (userAgent, id) => {
  expect(identify(userAgent).id).toBe(id);
});

test.each([
  "FreshRSS/1.11.2 (Linux; https://freshrss.org) like Googlebot",
  "Googlebot/2.1 (like Googlebot)",
  "LIKE GOOGLEBOT Googlebot",
])("a text that must not be there takes the claim back: `%s`", (userAgent) => {
  expect(identify(userAgent)).toBe(UNKNOWN);
});

test("a claim taken back leaves the field to the shorter token of another bot", () => {
  const reader = bot("reader", { userAgents: ["Reader"] });
  const both = createIdentifier([...BOTS, reader], UNKNOWN);
  expect(both("Reader/1.0 like Googlebot")).toBe(reader);
});

test.each([
  ["full-width letters", "Ｇｏｏｇｌｅｂｏｔ/2.1"],
  ["a zero-width space", "Mozilla/5.0 (compatible; Goo\u200bglebot/2.1)"],
  ["a soft hyphen", "Google\u00adbot"],
])("a token disguised by %s is the token", (_, userAgent) => {
  expect(identify(userAgent).id).toBe("googlebot");
  expect(identify(Buffer.from(userAgent).toString("latin1")).id).toBe("googlebot");
});

test("a token with letters beyond ASCII is found in header bytes and in text", () => {
  expect(identify("Bücherbot/1.0").id).toBe("umlaut");
  expect(identify(Buffer.from("bücherbot/1.0").toString("latin1")).id).toBe("umlaut");
});

test("what stands beyond 2 KiB does not count, and a token is not cut into another", () => {
  expect(identify(`${" ".repeat(2039)}Googlebot`).id).toBe("googlebot");
  expect(identify(`${" ".repeat(2040)}Googlebot`)).toBe(UNKNOWN);
  expect(identify(`${" ".repeat(65_000)}Googlebot`)).toBe(UNKNOWN);
});

test("the claim names the token as the bot's entry writes it", () => {
  expect(createMatcher(BOTS)("xx semrushBOT-ba/1")?.token).toBe("SemrushBot-BA");
});

test("the default bot claims nothing, whatever it is said to match", () => {
  const loose: Bot = { ...UNKNOWN, match: { ...UNKNOWN.match, userAgents: ["Mozilla"] } };
  expect(createMatcher([loose])("Mozilla/5.0")).toBeUndefined();
});

test("no bots, no claims", () => {
  expect(createIdentifier([], UNKNOWN)("Googlebot")).toBe(UNKNOWN);
});

test("an answer is the same the second time, for values short and long", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 700 }), (userAgent) => {
      expect(identify(userAgent)).toBe(identify(userAgent));
    }),
  );
});

test("any text is judged, and padding with blanks changes no judgement", () => {
  const tokens = BOTS.flatMap(({ match }) => [...match.userAgents, ...match.mustNot]);
  const piece = fc.oneof(fc.constantFrom(...tokens), fc.string({ unit: "binary", maxLength: 8 }));
  const match = createMatcher(
    BOTS.filter(({ match: { exact, anchored } }) => exact.length + anchored.length === 0),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), fc.nat(300), (pieces, blanks) => {
      const userAgent = pieces.join("");
      const pad = " ".repeat(blanks);
      expect(match(`${pad}${userAgent}${pad}`)).toEqual(match(userAgent));
    }),
  );
});

test.each([
  ["one letter", "a"],
  ["a token", "Googlebot "],
  ["the beginning of a token", "Googlebo"],
  ["a token and its veto", "like Googlebot "],
  ["bytes that are UTF-8", "\xc3\xa9"],
  ["combining marks", "\u0300\u0316"],
  ["a letter that stands for eighteen", "\ufdfa"],
])("64 KiB of %s are judged within the time of a few short values", (_, unit) => {
  const match = createMatcher(BOTS);
  const long = unit.repeat(Math.ceil(65_536 / unit.length));
  const capped = long.slice(0, 2048);
  const time = (userAgent: string): number => {
    const times = Array.from({ length: 15 }, () => {
      const start = performance.now();
      for (let round = 0; round < 20; round++) match(userAgent);
      return performance.now() - start;
    });
    return Math.min(...times);
  };
  expect(time(long)).toBeLessThan(20 * time(capped) + 20);
});

test.each([
  ["20,000 values of 500 chars", 20_000, 500],
  ["2,000 values of 64 KiB", 2_000, 65_536],
])("%s, each seen once, leave less than 4 MB behind", (_, count, length) => {
  const sawMany = createIdentifier(BOTS, UNKNOWN);
  const before = heapAfterCollection();
  for (let index = 0; index < count; index++) sawMany(`${index} `.padEnd(length, "x"));
  expect(heapAfterCollection() - before).toBeLessThan(4_000_000);
  expect(sawMany("Googlebot").id).toBe("googlebot");
});

function heapAfterCollection(): number {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect !== "function") throw new Error("cannot collect garbage");
  collect();
  return process.memoryUsage().heapUsed;
}
