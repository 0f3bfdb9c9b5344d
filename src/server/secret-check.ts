import { createHash, timingSafeEqual } from "node:crypto";
import type { onRequestHookHandler } from "fastify";
import { problem } from "./reply.ts";

/** Routes that supervisors ask without a key. */
const OPEN_ROUTES = new Set(["/healthz", "/readyz"]);

/** Refuses whoever does not send the key, in constant time. */
export function createKeyCheck(sharedKey: string): onRequestHookHandler {
  const isShared = createSecretCheck(sharedKey);
  return (request, reply, done) => {
    if (OPEN_ROUTES.has(request.routeOptions.url ?? "")) return done();
    const sent = request.raw.headers["x-crawlwall-key"];
    if (typeof sent === "string" && isShared(sent)) return done();
    const refusal = problem(403, "wrong_key", false);
    reply.hijack();
    reply.raw.writeHead(refusal.status, [...refusal.headers]);
    reply.raw.end(refusal.body);
    return undefined;
  };
}

/** Tells a secret from what is sent for it, in constant time. */
export function createSecretCheck(secret: string): (sent: string) => boolean {
  const expected = digest(secret);
  // Digests are of one length whatever was sent, which timingSafeEqual asks for.
  return (sent) => timingSafeEqual(digest(sent), expected);
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
