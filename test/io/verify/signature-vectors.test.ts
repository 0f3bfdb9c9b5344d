import { webcrypto as nodeCrypto } from "node:crypto";
import { readFile } from "node:fs/promises";
import { verifySignature, webcrypto } from "http-message-sig";
import { expect, test } from "vitest";
import { z } from "zod";
import { PUBLISHED_TEST_KEYS, parseKeyDirectory } from "../../../src/core/bot/key-directory.ts";
import { readSignatures } from "../../../src/core/bot/signature.ts";
import type { CrawlRequest } from "../../../src/core/request.ts";
import type { KeySource } from "../../../src/io/verify/key-source.ts";
import { createNonceStore } from "../../../src/io/verify/nonces.ts";
import { lookAtSignature, proveSignature } from "../../../src/io/verify/signatures.ts";
import { requestFrom } from "./support/claims.ts";
import { withHeaders } from "./support/signer.ts";

const vectorSchema = z.object({
  name: z.string(),
  jwk: z.object({ x: z.string(), nbf: z.number().optional(), exp: z.number().optional() }),
  request: z.object({
    method: z.string(),
    url: z.string().optional(),
    authority: z.string().optional(),
    path: z.string().optional(),
    headers: z.record(z.string(), z.string()),
  }),
  signature_input: z.string(),
  signature: z.string(),
  response_body: z.string().optional(),
});

type Vector = z.infer<typeof vectorSchema>;

const file = new URL("../../fixtures/signatures/vectors.json", import.meta.url);
const { vectors } = z
  .object({ vectors: z.array(vectorSchema) })
  .parse(JSON.parse(await readFile(file, "utf8")));

function vector(name: string): Vector {
  const found = vectors.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no vector ${name}`);
  return found;
}

function requestOf(
  name: string,
  change: { readonly method?: string; readonly url?: string } = {},
): CrawlRequest {
  const { request, signature, signature_input: input } = vector(name);
  const url = new URL(change.url ?? request.url ?? `https://${request.authority}${request.path}`);
  const asked: CrawlRequest = {
    ...requestFrom("203.0.113.7"),
    method: change.method ?? request.method,
    host: url.hostname,
    authority: url.host,
    target: { rawPath: url.pathname, query: url.search.slice(1), readings: [url.pathname] },
  };
  return withHeaders(asked, { ...request.headers, signature, "signature-input": input });
}

/** The key of a vector as the directory of this origin would give it. */
async function keyOf(name: string, origin: string): Promise<KeySource> {
  const { x } = vector(name).jwk;
  const jwk = { kty: "OKP", crv: "Ed25519", x };
  const key = await nodeCrypto.subtle.importKey("jwk", jwk, "Ed25519", false, ["verify"]);
  return {
    origin,
    find: async () => ({ kind: "key", verifier: webcrypto.verifier(key) }),
    state: () => ({ keys: 1, failures: 0, fetchedAtMs: 0, expiresAtMs: 0, error: undefined }),
    tried: Promise.resolve(),
    stop: () => undefined,
  };
}

async function outcome(
  request: CrawlRequest,
  name: string,
  origin: string,
  clock: number,
): Promise<string> {
  const nowMs = clock * 1_000;
  const look = lookAtSignature(request, [await keyOf(name, origin)], nowMs);
  if (look.kind === "absent") return look.kind;
  const proof =
    look.kind === "settled"
      ? look.proof
      : await proveSignature(request, look.attributed, createNonceStore(), nowMs, Infinity);
  const reason = proof.evidence?.web_bot_auth?.reason;
  return reason === undefined ? proof.verification : `${proof.verification}: ${String(reason)}`;
}

const AGENT = "https://signature-agent.test";
const CHATGPT = "https://chatgpt.com";
const TODAY = 1_796_000_000;

test.each([
  ["wba-v2-dictionary", AGENT, 1_735_689_700, "verified"],
  ["wba-v2-dictionary", AGENT, TODAY, "refuted: too_old"],
  ["wba-v2-dictionary", "https://other.test", 1_735_689_700, "refuted: agent_not_listed"],
  ["wba-legacy-string", AGENT, 1_735_689_700, "verified"],
  ["wba-legacy-string", AGENT, TODAY, "refuted: expired"],
  ["wba-legacy-string", AGENT, 1_735_689_500, "refuted: created_in_future"],
  ["generated-dictionary-label-equals-key", "https://bot.example", 1_767_225_600, "verified"],
  ["generated-dictionary-label-equals-key", "https://bot.example", 1_767_225_900, "verified"],
  [
    "generated-dictionary-label-equals-key",
    "https://bot.example",
    1_767_226_000,
    "refuted: expired",
  ],
  ["real-chatgpt-agent-wrong-path", CHATGPT, 1_754_340_840, "refuted: signature_mismatch"],
  ["real-chatgpt-agent-wrong-method", CHATGPT, 1_754_340_840, "refuted: signature_mismatch"],
  ["rfc9421-b26", AGENT, 1_618_884_500, "absent"],
  ["wba-signed-directory", AGENT, 1_735_689_700, "absent"],
])("%s, agent %s, clock %i: %s", async (name, origin, clock, expected) => {
  expect(await outcome(requestOf(name), name, origin, clock)).toBe(expected);
});

test("the request that a real agent signed in August 2025 verifies, as it came", async () => {
  const name = "real-chatgpt-agent-wrong-method";
  const asItCame = requestOf(name, { method: "GET" });
  expect(await outcome(asItCame, name, CHATGPT, 1_754_340_840)).toBe("verified");
  const elsewhere = requestOf(name, { method: "GET", url: "https://other.test/test-url-context" });
  expect(await outcome(elsewhere, name, CHATGPT, 1_754_340_840)).toBe(
    "refuted: signature_mismatch",
  );
});

test("the engine agrees with RFC 9421, B.2.6", async () => {
  const { request, signature, signature_input: input, jwk } = vector("rfc9421-b26");
  const source = await keyOf("rfc9421-b26", AGENT);
  const found = await source.find(jwk.x, 0, 0);
  if (found.kind !== "key") throw new Error("no key");
  const fields = Object.entries({ ...request.headers, signature, "signature-input": input });
  const verified = verifySignature(
    {
      kind: "request",
      method: request.method,
      targetUri: `https://${request.authority}${request.path}`,
      fields: fields.map(([name, value]) => ({ name, value })),
    },
    {
      policy: { algorithms: ["ed25519"], requiredComponents: [], requiredParameters: [] },
      resolveVerifier: () => found.verifier,
    },
  );
  await expect(verified).resolves.toMatchObject({ label: "sig-b26" });
});

test("a published directory is read, and its key is known to be no secret", () => {
  const read = parseKeyDirectory(vector("wba-signed-directory").response_body ?? "");
  if (read.kind !== "keys") throw new Error(read.reason);
  expect(read.keys.map(({ id }) => PUBLISHED_TEST_KEYS.has(id))).toEqual([true]);
});

test("a label that is written twice counts as it is written last", () => {
  const request = requestOf("wba-legacy-string");
  const input = `${request.headers.get("signature-input")}, sig2=("@method")`;
  const doubled = withHeaders(request, {
    ...Object.fromEntries(request.headers.all()),
    "signature-input": input,
  });
  expect(readSignatures(doubled.headers, 1_735_689_700_000).kind).toBe("absent");
});
