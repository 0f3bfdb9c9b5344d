import { webcrypto as nodeCrypto } from "node:crypto";
import { createSignature, type SignatureComponent, type Signer, webcrypto } from "http-message-sig";
import { thumbprintOf } from "../../../../src/core/bot/key-directory.ts";
import type { CrawlRequest, HeaderFields } from "../../../../src/core/request.ts";
import { body, type Handler } from "./list-server.ts";

/** A crawler's key pair. */
export interface Keys {
  readonly id: string;
  readonly x: string;
  readonly signer: Signer;
}

export async function createKeys(): Promise<Keys> {
  const pair = await nodeCrypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]);
  if (!("privateKey" in pair)) throw new Error("not a pair");
  const { x = "" } = await nodeCrypto.subtle.exportKey("jwk", pair.publicKey);
  return { id: thumbprintOf(x), x, signer: webcrypto.signer(pair.privateKey) };
}

/** Serves a directory of keys. */
export function directory(...keys: readonly object[]): Handler {
  return body(JSON.stringify({ keys }));
}

export function jwkOf(keys: Keys, more: object = {}): object {
  return { kty: "OKP", crv: "Ed25519", kid: keys.id, x: keys.x, use: "sig", ...more };
}

export interface SignOptions {
  readonly keys: Keys;
  /** The value of Signature-Agent. */
  readonly agent?: string;
  readonly components?: readonly SignatureComponent[];
  /** Over the usual ones; undefined leaves one out. */
  readonly parameters?: Readonly<Record<string, string | number | undefined>>;
  readonly nowMs: number;
}

/** Signs a request as a crawler would, in the shape of the current draft unless told otherwise. */
export async function sign(request: CrawlRequest, options: SignOptions): Promise<CrawlRequest> {
  const { keys, nowMs } = options;
  const now = Math.floor(nowMs / 1_000);
  const parameters = {
    created: now,
    expires: now + 60,
    keyid: keys.id,
    alg: "ed25519",
    nonce: nodeCrypto.randomUUID(),
    tag: "web-bot-auth",
    ...options.parameters,
  };
  const given = Object.fromEntries(
    Object.entries(parameters).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  );
  const agent =
    options.agent === undefined ? [] : [{ name: "signature-agent", value: options.agent }];
  const { rawPath, query } = request.target;
  const signed = await createSignature(
    {
      kind: "request",
      method: request.method,
      targetUri: `${request.scheme}://${request.authority}${rawPath}${query === "" ? "" : `?${query}`}`,
      fields: [...agent, ...[...request.headers.all()].map(([name, value]) => ({ name, value }))],
    },
    {
      label: "sig1",
      components: options.components ?? ["@authority", SIGNED_AGENT],
      parameters: given,
      signer: keys.signer,
    },
  );
  return withHeaders(request, {
    ...Object.fromEntries(request.headers.all()),
    ...(options.agent === undefined ? {} : { "signature-agent": options.agent }),
    "signature-input": signed.signatureInput,
    signature: signed.signature,
  });
}

/** The covered member of Signature-Agent, named as the signature is. */
export const SIGNED_AGENT = { name: "signature-agent", parameters: { key: "sig1" } } as const;

export function withHeaders(
  request: CrawlRequest,
  headers: Readonly<Record<string, string>>,
): CrawlRequest {
  return { ...request, headers: headersOf(headers) };
}

export function headersOf(headers: Readonly<Record<string, string>>): HeaderFields {
  const all = new Map(Object.entries(headers));
  return { get: (name) => all.get(name), all: () => all };
}
