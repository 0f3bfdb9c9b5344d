import type { FastifyInstance } from "fastify";

/** What supervisors ask. */
export interface Health {
  /** True once policies are compiled and each address list is on disk or was tried once. */
  isReady(): boolean;
}

/** `/healthz`: the process answers. `/readyz`: it decides as it should. Neither needs forwarded headers. */
export function registerHealth(app: FastifyInstance, health: Health): void {
  app.get("/healthz", (_, reply) => {
    reply.header("cache-control", "no-store").type("text/plain; charset=utf-8").send("ok\n");
  });
  app.get("/readyz", (_, reply) => {
    const isReady = health.isReady();
    reply
      .code(isReady ? 200 : 503)
      .header("cache-control", "no-store")
      .type("text/plain; charset=utf-8")
      .send(isReady ? "ready\n" : "not ready\n");
  });
}
