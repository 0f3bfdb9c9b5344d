// A crawler that signs what it asks for (Web Bot Auth): makes a key, publishes it on this machine, and
// fetches a page in four ways. Prints what each was answered; exits with 1 where that is not as it should be.
//
//   node examples/web-bot-auth/agent.mjs http://127.0.0.1:8080/some/page [port of its directory]
import { createHash, webcrypto as nodeCrypto, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { createSignature, webcrypto } from "http-message-sig";

const page = new URL(process.argv[2] ?? "http://127.0.0.1:8080/");
const port = Number(process.argv[3] ?? 9400);
const agent = `http://127.0.0.1:${port}`;

const { privateKey, publicKey } = await nodeCrypto.subtle.generateKey("Ed25519", true, [
  "sign",
  "verify",
]);
const { crv, kty, x } = await nodeCrypto.subtle.exportKey("jwk", publicKey);
// RFC 7638: signatures name a key by the hash of its required members, in this order.
const kid = createHash("sha256").update(JSON.stringify({ crv, kty, x })).digest("base64url");

const directory = createServer((request, response) => {
  const isDirectory = request.url === "/.well-known/http-message-signatures-directory";
  response.writeHead(isDirectory ? 200 : 404, {
    "content-type": "application/http-message-signatures-directory+json",
    "cache-control": "max-age=300",
  });
  response.end(isDirectory ? JSON.stringify({ keys: [{ crv, kty, x, kid, use: "sig" }] }) : "");
});
await new Promise((resolve) => directory.listen(port, "127.0.0.1", resolve));

const accepted = await firstAccepted();
const results = [
  await expectStatus("the same signature again", page, accepted, 403),
  await expectStatus("signed for another page", new URL("/other", page), await sign(page), 403),
  await expectStatus("not signed", page, {}, 403),
];
directory.close();
process.exitCode = results.every((isRight) => isRight) ? 0 : 1;

/** Fetches until the sidecar has read the directory: a key that is new to it may take a minute. */
async function firstAccepted() {
  for (let tries = 0; tries < 140; tries++) {
    const headers = await sign(page);
    const answer = await get(page, headers);
    if (answer.ok) {
      tell("signed", answer);
      return headers;
    }
    if (tries === 0) process.stdout.write("waiting until the key directory has been read\n");
    await sleep(500);
  }
  throw new Error(`${page.href} never accepted the signature`);
}

async function expectStatus(what, url, headers, expected) {
  const answer = await get(url, headers);
  tell(what, answer);
  return answer.status === expected;
}

async function get(url, headers) {
  const answer = await fetch(url, { headers: { "user-agent": "ExampleAgent/1.0", ...headers } });
  return { ok: answer.ok, status: answer.status, body: await answer.text() };
}

function tell(what, { ok, status, body }) {
  process.stdout.write(`${what}: ${status}${ok ? "" : ` ${body.slice(0, 200)}`}\n`);
}

/** The header fields that prove who asks: for this page alone, for one minute, once. */
async function sign(url) {
  const created = Math.floor(Date.now() / 1000);
  const fields = [{ name: "signature-agent", value: `sig1="${agent}"` }];
  const { signature, signatureInput } = await createSignature(
    { kind: "request", method: "GET", targetUri: url.href, fields },
    {
      label: "sig1",
      components: [
        "@method",
        "@authority",
        "@path",
        { name: "signature-agent", parameters: { key: "sig1" } },
      ],
      parameters: {
        created,
        expires: created + 60,
        keyid: kid,
        alg: "ed25519",
        nonce: randomUUID(),
        tag: "web-bot-auth",
      },
      signer: webcrypto.signer(privateKey),
    },
  );
  return {
    "signature-agent": fields[0].value,
    "signature-input": signatureInput,
    signature,
  };
}
