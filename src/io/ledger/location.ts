import { join } from "node:path";
import { RefusedError } from "./database.ts";

/** Where a ledger is. */
export type LedgerLocation =
  | { readonly kind: "sqlite"; readonly path: string }
  | { readonly kind: "postgres"; readonly url: string };

/** The file of `sqlite:` without a path, in the data directory. */
const DEFAULT_FILE = "ledger.db";

/**
 * Reads the value of `--ledger`: `sqlite:PATH` (`sqlite:` alone is a file in the data directory),
 * `postgres://…`, or `off`, which is undefined. Throws `RefusedError`, never quoting a password.
 */
export function parseLedgerUrl(url: string, dataDir: string): LedgerLocation | undefined {
  if (url === "off") return undefined;
  if (url.startsWith("sqlite:")) {
    // What follows is a path to the letter: no query, no escapes.
    const path = url.slice("sqlite:".length);
    return { kind: "sqlite", path: path === "" ? join(dataDir, DEFAULT_FILE) : path };
  }
  if (/^postgres(?:ql)?:\/\//.test(url)) {
    if (!URL.canParse(url)) {
      throw new RefusedError(
        "the ledger's `postgres://` URL cannot be read; percent-encode special characters in its password",
      );
    }
    return { kind: "postgres", url };
  }
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(url)?.[0] ?? url.slice(0, 32);
  throw new RefusedError(
    `unknown kind of ledger \`${scheme}\`; \`sqlite:PATH\`, \`postgres://…\` or \`off\``,
  );
}

/** A location as logs may show it: without a password. */
export function describeLocation(location: LedgerLocation): string {
  if (location.kind === "sqlite") return `sqlite:${location.path}`;
  const url = new URL(location.url);
  if (url.password !== "") url.password = "…";
  // A password may also be given as a parameter.
  if (url.searchParams.has("password")) url.searchParams.set("password", "…");
  return decodeURI(url.href);
}
