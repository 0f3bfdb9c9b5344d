import fc from "fast-check";
import { expect, test } from "vitest";
import { parseKeyDirectory } from "../../../src/core/bot/key-directory.ts";
import { readSignatures } from "../../../src/core/bot/signature.ts";
import { bareOrigin, readSignatureAgent } from "../../../src/core/bot/signature-agent.ts";
import type { HeaderFields } from "../../../src/core/request.ts";

function headers(fields: Readonly<Record<string, string>>): HeaderFields {
  const all = new Map(Object.entries(fields));
  return { get: (name) => all.get(name), all: () => all };
}

const PIECES = ['sig1=("@authority" "signature-agent";key="sig1")', ";created=1", ";expires=99"];
const MORE = [
  ';keyid="k"',
  ';tag="web-bot-auth"',
  ', sig2=("@path")',
  "(",
  ")",
  '"',
  "\\",
  ";",
  ",",
];

test("whatever the signature fields hold, reading them ends and never throws", () => {
  const field = fc
    .array(fc.oneof(fc.constantFrom(...PIECES, ...MORE), fc.string({ maxLength: 6 })))
    .map((parts) => `${parts.join("")};tag="web-bot-auth"`);
  fc.assert(
    fc.property(
      field,
      fc.oneof(fc.constantFrom('sig1="https://a.test"'), fc.string()),
      (input, agent) => {
        const read = readSignatures(
          headers({ "signature-input": input, "signature-agent": agent }),
          0,
        );
        expect(["absent", "bad", "signed"]).toContain(read.kind);
      },
    ),
  );
});

test.each([
  ["opening lists", "(".repeat(8_000)],
  ["labels", "a,".repeat(4_000)],
  ["components", `sig1=(${'"a" '.repeat(1_900)})`],
  ["parameters", `sig1=()${";a=1".repeat(1_900)}`],
  ["escapes", `sig1=("${'\\"'.repeat(3_900)}")`],
  ["digits", `sig1=();created=${"9".repeat(8_000)}`],
  ["bytes", `sig1=:${"A".repeat(8_000)}:`],
])("a field full of %s is read in no time", (_what, text) => {
  const input = `${text};tag="web-bot-auth"`;
  const began = performance.now();
  for (let count = 0; count < 20; count++) readSignatures(headers({ "signature-input": input }), 0);
  expect((performance.now() - began) / 20).toBeLessThan(20);
});

test.each([
  ['sig1="https://bot.example"', "sig1", "https://bot.example"],
  ['sig1="https://bot.example/"', "sig1", "https://bot.example"],
  ['sig1="https://BOT.example:443"', "sig1", "https://bot.example"],
  ['sig1="https://bot.example:8443"', "sig1", "https://bot.example:8443"],
  [
    'other="https://x.test", sig1="https://bot.example";type=directory',
    "sig1",
    "https://bot.example",
  ],
  ['sig1="https://bot.example"', undefined, "https://bot.example"],
  ['"https://bot.example"', undefined, "https://bot.example"],
  ['sig1="https://bot.example", b="https://x.test"', undefined, "agent_uncovered"],
  ['sig1="https://bot.example"', "sig2", "agent_uncovered"],
  ['"https://bot.example"', "sig1", "agent_malformed"],
  ['sig1="https://bot.example/keys"', "sig1", "agent_malformed"],
  ['sig1="https://bot.example?x"', "sig1", "agent_malformed"],
  ['sig1="https://user@bot.example"', "sig1", "agent_malformed"],
  ['sig1="javascript:alert(1)"', "sig1", "agent_malformed"],
  ["sig1=bot.example", "sig1", "agent_malformed"],
  ["sig1", "sig1", "agent_malformed"],
  ['sig1=("https://bot.example")', "sig1", "agent_malformed"],
  ['sig1="https://bot.example/jwks.json";type=jwks_uri', "sig1", "agent_type_unsupported"],
  ["", undefined, "agent_malformed"],
])("Signature-Agent: %s, of which %s is covered, says %s", (header, key, expected) => {
  const agent = readSignatureAgent(header, key);
  expect(agent.kind === "agent" ? agent.origin : agent.fault).toBe(expected);
});

test.each(["https://a.test", "https://a.test/", "http://127.0.0.1:9400"])(
  "%s is an origin",
  (text) => {
    expect(bareOrigin(text)).toBe(text.replace(/\/$/, ""));
  },
);

test("a directory of any JSON is read without a throw, and holds no key of another kind", () => {
  fc.assert(
    fc.property(fc.oneof(fc.json(), fc.string()), (text) => {
      expect(parseKeyDirectory(text).kind).toBe("unreadable");
    }),
  );
});
