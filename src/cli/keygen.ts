import { createPrivateKey, createPublicKey } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Command } from "commander";
import { makePrivateKey } from "../io/receipts/keys.ts";
import { publicJwkOf } from "../io/receipts/public-keys.ts";
import { CannotRun, EXIT, type ExitCode, note, printJson, runCommand } from "./exit.ts";

interface Options {
  readonly out: string;
  readonly json?: boolean;
}

/** `crawlwall keygen`: a key to sign receipts with; an existing file is never overwritten. */
export function registerKeygen(program: Command): void {
  program
    .command("keygen")
    .description("make an Ed25519 key to sign receipts with; prints its public half")
    .option("--out <file>", "where the private key goes (mode 0600)", "receipt-key.pem")
    .option("--json", "print JSON: the file, the key's id, the public key as PEM and as JWK")
    .action((options: Options) => runCommand(() => keygen(options)));
}

function keygen({ out, json }: Options): ExitCode {
  const pem = makePrivateKey();
  try {
    mkdirSync(dirname(out), { recursive: true, mode: 0o700 });
    writeFileSync(out, pem, { flag: "wx", mode: 0o600 });
  } catch (error) {
    const isThere = error instanceof Error && "code" in error && error.code === "EEXIST";
    const why = isThere
      ? "exists, and a key is never overwritten; name another file"
      : "cannot be written";
    throw new CannotRun([`\`${out}\` ${why}`], { cause: error });
  }
  const publicKey = createPublicKey(pem);
  const jwk = publicJwkOf(createPrivateKey(pem));
  const publicPem = publicKey.export({ type: "spki", format: "pem" }).toString();
  if (json === true) printJson({ file: out, key_id: jwk.kid, public_key: publicPem, jwk });
  else process.stdout.write(publicPem);
  note(`crawlwall: the private key is in ${out}; its id is ${jwk.kid}`);
  return EXIT.fine;
}
