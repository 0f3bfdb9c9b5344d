import type { FastifyInstance } from "fastify";
import { problem } from "./reply.ts";

/**
 * `/robots.txt`: 404 tells the proxy to hand the request through the check to the site's own file
 * (contract 4, `robots.serve` off).
 */
export function registerRobots(app: FastifyInstance): void {
  app.get("/robots.txt", (_, reply) => {
    const answer = problem(404, "robots_not_served", false);
    reply.hijack();
    reply.raw.writeHead(answer.status, [...answer.headers]);
    reply.raw.end(answer.body);
  });
}
