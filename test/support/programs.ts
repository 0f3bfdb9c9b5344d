import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A Caddy that the shipped files must run on. */
export interface CaddyProgram {
  readonly name: string;
  readonly path: string;
  /** What `CRAWLWALL_KEEPALIVE` should be there: connections are shared unsafely below 2.11.5. */
  readonly keepalive: "off" | "60s";
}

/** The top of the checkout, with a slash at the end. */
export const root: string = fileURLToPath(new URL("../../", import.meta.url));

/** A program that `node scripts/setup.mjs --test` has put into .cache/bin; throws when it has not. */
export function cachedProgram(name: "caddy-2.6" | "caddy-2.11" | "nsd"): string {
  const path = `${root}.cache/bin/${name}`;
  if (!existsSync(path)) {
    throw new Error(`${name} is missing; \`node scripts/setup.mjs --test\` fetches it`);
  }
  return path;
}

/** Debian's Caddy, the oldest that is served. */
export const oldCaddy: CaddyProgram = {
  name: "Caddy 2.6.2",
  path: cachedProgram("caddy-2.6"),
  keepalive: "off",
};

/** A current Caddy. */
export const newCaddy: CaddyProgram = {
  name: "Caddy 2.11",
  path: cachedProgram("caddy-2.11"),
  keepalive: "60s",
};
