import type { FastifyServerOptions } from "fastify";

/**
 * For a server whose routes have no JSON schemas: without it Fastify loads the compilers for them,
 * which takes a twelfth of a start.
 */
export const NO_SCHEMAS: NonNullable<FastifyServerOptions["schemaController"]> = {
  compilersFactory: { buildValidator: refuse, buildSerializer: refuse },
};

function refuse(): never {
  throw new Error("a route has a schema, and there is no compiler for it");
}
