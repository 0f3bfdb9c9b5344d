import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** Tells whether a proxy sends the shared key as `X-CrawlWall-Key`, in constant time. */
export function createKeyCheck(sharedKey: string): (message: IncomingMessage) => boolean {
  const isShared = createSecretCheck(sharedKey);
  return ({ headers }) => {
    const sent = headers["x-crawlwall-key"];
    return typeof sent === "string" && isShared(sent);
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
