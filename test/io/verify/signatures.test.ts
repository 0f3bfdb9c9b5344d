import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Bot } from "../../../src/core/bot/bot.ts";
import type { CrawlRequest } from "../../../src/core/request.ts";
import { openVerifier, type Verifier } from "../../../src/io/verify/verifier.ts";
import { waitFor } from "../../support/wait.ts";
import { botWith, policyWith, requestFrom } from "./support/claims.ts";
import { body, type Handler, type ListServer, startListServer } from "./support/list-server.ts";
import {
  createKeys,
  directory,
  jwkOf,
  type Keys,
  SIGNED_AGENT,
  type SignOptions,
  sign,
  withHeaders,
} from "./support/signer.ts";

const NOW = Date.now();
const SECOND = 1_000;

let keys: Keys;
let server: ListServer;
let origin: string;
let dataDir: string;
let bot: Bot;
const verifiers: Verifier[] = [];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "crawlwall-signatures-"));
  keys = await createKeys();
  server = await startListServer(directory(jwkOf(keys)));
  origin = new URL(server.url).origin;
  bot = botWith({ kind: "web_bot_auth", directories: [origin] });
});

afterEach(async () => {
  for (const verifier of verifiers.splice(0)) verifier.close();
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
});

async function open(
  more: { timeoutMs?: number; allowInsecureSources?: boolean } = {},
): Promise<Verifier> {
  const verifier = openVerifier({
    dataDir,
    dnsServers: undefined,
    timeoutMs: 2_000,
    allowInsecureSources: true,
    ...more,
  });
  verifiers.push(verifier);
  verifier.configure([policyWith(bot)]);
  await verifier.ready();
  return verifier;
}

const ASKED = requestFrom("127.0.0.1");

function signed(
  more: Partial<SignOptions> = {},
  asked: CrawlRequest = ASKED,
): Promise<CrawlRequest> {
  return sign(asked, { keys, agent: `sig1="${origin}"`, nowMs: NOW, ...more });
}

/** The outcome, and the reason where there is one. */
async function outcome(verifier: Verifier, request: CrawlRequest, nowMs = NOW): Promise<string> {
  const { verification, evidence } = await verifier.prove(bot, request, nowMs);
  const reason = evidence?.web_bot_auth?.reason;
  return reason === undefined ? verification : `${verification}: ${String(reason)}`;
}

test("a signed request is verified from any address, with key, agent and covered parts", async () => {
  const verifier = await open();
  const proof = await verifier.prove(bot, await signed(), NOW);
  expect(proof).toEqual({
    verification: "verified",
    cause: undefined,
    evidence: {
      web_bot_auth: {
        agent: origin,
        key_id: keys.id,
        components: ["@authority", 'signature-agent;key="sig1"'],
      },
    },
  });
});

test("without a signature nothing is asked and nothing is said against the claim", async () => {
  const verifier = await open();
  expect(verifier.check(bot, ASKED, NOW)).toMatchObject({
    kind: "settled",
    proof: { verification: "unverifiable" },
  });
});

test("a signature of another kind is not a crawler's", async () => {
  const verifier = await open();
  const request = await signed({ parameters: { tag: "something-else" } });
  expect(verifier.check(bot, request, NOW)).toMatchObject({
    proof: { verification: "unverifiable" },
  });
});

test("a well-formed signature leaves open whether it holds", async () => {
  const verifier = await open();
  expect(verifier.check(bot, await signed(), NOW)).toEqual({
    kind: "open",
    possible: ["verified", "refuted", "unavailable"],
  });
});

test("a bare string in Signature-Agent, as OpenAI sends it, is read too", async () => {
  const request = await signed({
    agent: `"${origin}"`,
    components: ["@authority", "@method", "@path", "signature-agent"],
  });
  expect(await outcome(await open(), request)).toBe("verified");
});

test.each([
  ["no host covered", { components: ["@method", SIGNED_AGENT] }, "authority_uncovered"],
  ["nothing covered", { components: [] }, "authority_uncovered"],
  ["the agent not covered", { components: ["@authority"] }, "agent_uncovered"],
  ["no expiry", { parameters: { expires: undefined } }, "parameter_missing"],
  ["no creation time", { parameters: { created: undefined } }, "parameter_missing"],
  ["no key id", { parameters: { keyid: undefined } }, "parameter_missing"],
  ["an expiry in the past", { parameters: { expires: NOW / SECOND - 31 } }, "expired"],
  ["a creation in the future", { parameters: { created: NOW / SECOND + 31 } }, "created_in_future"],
  ["an age of two days", { parameters: { created: NOW / SECOND - 172_800 } }, "too_old"],
  ["a foreign key", { parameters: { keyid: "A".repeat(43) } }, "key_unknown"],
  ["the agent of somebody else", { agent: 'sig1="https://other.example"' }, "agent_not_listed"],
  ["an agent that is a page", { agent: 'sig1="https://other.example/x"' }, "agent_malformed"],
  ["an agent without quotes", { agent: "sig1=bot.example" }, "agent_malformed"],
  [
    "an agent of an unknown type",
    { agent: 'sig1="https://other.example";type=cimd' },
    "agent_type_unsupported",
  ],
] as readonly [string, Partial<SignOptions>, string][])(
  "a signature with %s is refuted and says so",
  async (_what, more, reason) => {
    const parameters = Object.fromEntries(
      Object.entries(more.parameters ?? {}).map(([name, value]) => [
        name,
        typeof value === "number" ? Math.floor(value) : value,
      ]),
    );
    const request = await signed({ ...more, parameters });
    expect(await outcome(await open(), request)).toBe(`refuted: ${reason}`);
  },
);

test("clocks that differ by half a minute do not matter", async () => {
  const verifier = await open();
  expect(await outcome(verifier, await signed(), NOW - 29 * SECOND)).toBe("verified");
  expect(await outcome(verifier, await signed(), NOW + 89 * SECOND)).toBe("verified");
});

const COVERS_ALL = ["@method", "@authority", "@path", "@query", "x-token", SIGNED_AGENT];

test.each([
  ["method", { method: "POST" }],
  ["host", { authority: "other.example.com" }],
  ["port", { authority: "www.example.com:8443" }],
  ["path", { target: { rawPath: "/b", query: "q=1", readings: ["/b"] } }],
  ["encoding of the path", { target: { rawPath: "/%61", query: "q=1", readings: ["/a"] } }],
  ["query", { target: { rawPath: "/a", query: "q=2", readings: ["/a"] } }],
] as readonly [string, Partial<CrawlRequest>][])(
  "a signature does not hold for another %s",
  async (_what, change) => {
    const asked = withHeaders(
      { ...ASKED, target: { rawPath: "/a", query: "q=1", readings: ["/a"] } },
      { "x-token": "one" },
    );
    const request = await signed({ components: COVERS_ALL }, asked);
    const verifier = await open();
    expect(await outcome(verifier, { ...request, ...change })).toBe("refuted: signature_mismatch");
    expect(await outcome(verifier, request)).toBe("verified");
  },
);

test("a covered field that was changed or taken away breaks the signature", async () => {
  const asked = withHeaders(ASKED, { "x-token": "one" });
  const request = await signed({ components: COVERS_ALL }, asked);
  const fields = Object.fromEntries(request.headers.all());
  const verifier = await open();
  const changed = withHeaders(request, { ...fields, "x-token": "two" });
  expect(await outcome(verifier, changed)).toBe("refuted: signature_mismatch");
  const { "x-token": _gone, ...rest } = fields;
  expect(await outcome(verifier, withHeaders(request, rest))).toBe("refuted: component_missing");
});

test("a signature of which one byte was changed does not hold", async () => {
  const request = await signed();
  const fields = Object.fromEntries(request.headers.all());
  const bytes = Buffer.from(fields.signature?.slice("sig1=:".length, -1) ?? "", "base64");
  bytes[0] = (bytes[0] ?? 0) ^ 1;
  const forged = withHeaders(request, {
    ...fields,
    signature: `sig1=:${bytes.toString("base64")}:`,
  });
  expect(await outcome(await open(), forged)).toBe("refuted: signature_mismatch");
});

test("the same nonce is accepted once, also of two requests at the same time", async () => {
  const verifier = await open();
  const request = await signed();
  const outcomes = await Promise.all([outcome(verifier, request), outcome(verifier, request)]);
  expect(outcomes.toSorted()).toEqual(["refuted: replayed", "verified"]);
  expect(await outcome(verifier, request)).toBe("refuted: replayed");
});

test("without a nonce a signature may serve its whole time", async () => {
  const verifier = await open();
  const request = await signed({ parameters: { nonce: undefined } });
  expect(await outcome(verifier, request)).toBe("verified");
  expect(await outcome(verifier, request)).toBe("verified");
});

test("of two signatures one that holds is enough", async () => {
  const good = Object.fromEntries((await signed()).headers.all());
  const input = good["signature-input"]?.replace("sig1=", "").replace(/created=\d+/, "created=1");
  const both = withHeaders(ASKED, {
    ...good,
    "signature-input": `other=${input}, ${good["signature-input"]}`,
    signature: `other=:AAAA:, ${good.signature}`,
  });
  expect(await outcome(await open(), both)).toBe("verified");
});

test.each([
  ["torn", 'sig1=("@authority";tag="web-bot-auth"'],
  ["endless", `sig1=("@authority" ${'"a" '.repeat(3_000)});tag="web-bot-auth"`],
  ["an item, no list", 'sig1="@authority";tag="web-bot-auth"'],
  ["of numbers", 'sig1=(1 2 3);tag="web-bot-auth"'],
])("a Signature-Input that is %s is refuted as malformed", async (_what, input) => {
  const request = withHeaders(ASKED, { "signature-input": input, signature: "sig1=:AAAA:" });
  expect(await outcome(await open(), request)).toBe("refuted: malformed");
});

test("a key that is new in the directory is known after the next reading of it", async () => {
  const verifier = await open();
  const next = await createKeys();
  server.answer(directory(jwkOf(keys), jwkOf(next)));
  expect(await outcome(verifier, await signed({ keys: next }))).toBe("refuted: key_unknown");
  verifier.close();
  expect(await outcome(await open(), await signed({ keys: next }))).toBe("verified");
});

test("an unknown key has the directory read again at most once a minute", async () => {
  const verifier = await open();
  const next = await createKeys();
  for (let count = 0; count < 20; count++) await outcome(verifier, await signed({ keys: next }));
  expect(server.requests).toHaveLength(1);
});

test("the well-known path of the listed origin is asked, and nothing else", async () => {
  const verifier = await open();
  await outcome(verifier, await signed({ agent: 'sig1="http://169.254.169.254"' }));
  expect(server.requests.map((request) => request.url)).toEqual([
    "/.well-known/http-message-signatures-directory",
  ]);
});

test.each([
  ["status 500", body("", 500), "status 500"],
  ["HTML", body("<!DOCTYPE html>"), "the directory is no key set of at most 64 keys"],
  [
    "a key whose id is not its thumbprint",
    directory({ kty: "OKP", crv: "Ed25519", kid: "mine", x: "A".repeat(43) }),
    "the directory holds no Ed25519 key whose `kid` is its thumbprint",
  ],
  [
    "a redirect",
    (_request, response) => {
      response.writeHead(302, { location: "/elsewhere" }).end();
    },
    "more than 0 redirects",
  ],
  [
    "a flood of keys",
    directory(...Array.from({ length: 65 }, () => ({}))),
    "the directory is no key set of at most 64 keys",
  ],
  ["too much", body(" ".repeat(65_537)), "more than 65536 bytes"],
] as readonly [string, Handler, string][])(
  "while the directory answers with %s, signatures are unavailable",
  async (_what, handler, cause) => {
    server.answer(handler);
    const verifier = await open();
    expect(await outcome(verifier, await signed())).toBe(`unavailable: ${origin}: ${cause}`);
    expect(verifier.status()).toMatchObject([
      { type: "web_bot_auth", source: origin, state: "failed", error: cause },
    ]);
  },
);

test.each([
  ["not valid yet", { nbf: NOW / SECOND + 60 }],
  ["not valid any more", { exp: NOW / SECOND - 60 }],
])("a key that is %s proves nothing", async (_what, limits) => {
  server.answer(directory(jwkOf(keys, limits)));
  expect(await outcome(await open(), await signed())).toBe("refuted: key_expired");
});

test("the key printed in RFC 9421 is refused wherever it is listed, except for tests", async () => {
  const published = {
    kty: "OKP",
    crv: "Ed25519",
    x: "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs",
  };
  server.answer(directory(published));
  const keyid = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";
  const request = await signed({ parameters: { keyid } });
  expect(await outcome(await open({ allowInsecureSources: false }), request)).toBe(
    "refuted: test_key",
  );
  expect(await outcome(await open(), request)).toBe("refuted: signature_mismatch");
});

test("a directory that never answers costs a request its deadline and no more", async () => {
  server.answer(() => undefined);
  bot = botWith({ kind: "web_bot_auth", directories: [origin] });
  const verifier = openVerifier({
    dataDir,
    dnsServers: undefined,
    timeoutMs: 200,
    allowInsecureSources: true,
  });
  verifiers.push(verifier);
  verifier.configure([policyWith(bot)]);
  const began = performance.now();
  const waiting = await Promise.all(
    Array.from({ length: 400 }, async () => outcome(verifier, await signed())),
  );
  expect(new Set(waiting)).toEqual(new Set([`unavailable: ${origin}: not read yet`]));
  expect(performance.now() - began).toBeLessThan(5_000);
  await waitFor("the one request", () => server.requests[0]);
  expect(server.requests).toHaveLength(1);
});

test("a directory that fails after a good answer revokes no key", async () => {
  const verifier = await open();
  server.answer(body("", 503));
  const next = await createKeys();
  await outcome(verifier, await signed({ keys: next }));
  expect(await outcome(verifier, await signed())).toBe("verified");
});

test("status shows the directory and how old its keys are", async () => {
  const verifier = await open();
  expect(verifier.status()).toEqual([
    {
      bot_id: "examplebot",
      type: "web_bot_auth",
      source: origin,
      state: "fresh",
      cidrs: null,
      fetched_at: expect.stringMatching(/Z$/),
      expires_at: expect.stringMatching(/Z$/),
      stale_action: null,
      max_stale: null,
      error: null,
    },
  ]);
});

test("address and signature that disagree are both in the evidence", async () => {
  bot = botWith(
    { kind: "static_ranges", cidrs: ["203.0.113.0/28"] },
    { kind: "web_bot_auth", directories: [origin] },
  );
  const verifier = await open();
  const request = await signed({}, requestFrom("198.51.100.1"));
  expect(await verifier.prove(bot, request, NOW)).toMatchObject({
    verification: "verified",
    evidence: { static_ranges: { reason: "not listed" }, web_bot_auth: { key_id: keys.id } },
  });
});

test("a directory that comes back is read again by itself", async () => {
  server.answer((_request, response) => response.destroy());
  const verifier = await open();
  expect(await outcome(verifier, await signed())).toMatch(/^unavailable/);
  server.answer(directory(jwkOf(keys)));
  await waitFor("the directory", async () => {
    await sleep(100);
    return (await outcome(verifier, await signed())) === "verified" ? true : undefined;
  });
});
