import type { FastifyInstance } from "fastify";

/** Where the public keys are, on our listener and, by the shipped Caddyfile, on the site. */
const JWKS_PATH = "/.well-known/crawlwall/jwks.json";

/** Public keys, for whoever wants to check a receipt (RFC 7517, 8.5.1). */
export function registerJwks(app: FastifyInstance, jwks: () => string): void {
  app.get(JWKS_PATH, (_, reply) => {
    reply
      .header("cache-control", "public, max-age=300")
      .type("application/jwk-set+json")
      .send(jwks());
  });
}
