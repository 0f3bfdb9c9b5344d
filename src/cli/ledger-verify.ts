import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { publicJwkOf, readKnownKey, readPublicKeys } from "../io/ledger/signer.ts";
import type { VerifyResult } from "../io/ledger/verify.ts";
import { CannotRun, EXIT, type ExitCode, note, printJson, runCommand } from "./exit.ts";
import { type LedgerPlace, withLedger, withLedgerFlags } from "./ledger/access.ts";
import { formatCount } from "./ledger/table.ts";

interface Options extends LedgerPlace {
  readonly publicKey: readonly string[];
  readonly against: readonly string[];
  readonly json?: boolean;
}

/** `crawlwall ledger verify`: says what of the ledger was edited, removed or moved. */
export function registerLedgerVerify(ledger: Command): void {
  const collect = (value: string, values: readonly string[]): readonly string[] => [
    ...values,
    value,
  ];
  withLedgerFlags(
    ledger
      .command("verify")
      .description("say what was edited, removed or moved since it was written"),
  )
    .option("--public-key <file>", "also believe checkpoints of this key (PEM or JWK)", collect, [])
    .option("--against <file>", "checkpoints kept elsewhere: an earlier `--json`", collect, [])
    .option("--json", "print JSON, with the checkpoints and the public key to keep elsewhere")
    .action((options: Options) => runCommand(() => verify(options)));
}

async function verify(options: Options): Promise<ExitCode> {
  const own = readKnownKey(options.dataDir);
  const publicKeys = [...(own === undefined ? [] : [own]), ...options.publicKey.map(readKey)];
  const checkpoints = options.against.flatMap((file) => findCheckpoints(readText(file)));
  const result = await withLedger(options, "read", (query) =>
    query("verify", { publicKeys, checkpoints }),
  );
  if (options.json === true) printJson({ ...result, public_key: own ? publicJwkOf(own) : null });
  else process.stdout.write(`${describe(result)}\n`);
  for (const key of result.unknown_keys) {
    note(`crawlwall: checkpoints signed by key ${key} are not believed; name it with --public-key`);
  }
  return result.valid ? EXIT.fine : EXIT.found;
}

function readKey(file: string): string {
  const text = readText(file);
  try {
    readPublicKeys([text]);
  } catch (error) {
    const message = `--public-key: \`${file}\` is no key; write PEM or a JWK`;
    throw new CannotRun([message], { cause: error });
  }
  return text;
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new CannotRun([`\`${file}\` cannot be read`], { cause: error });
  }
}

/** Signatures in whatever holds them: three parts of base64url with dots between. */
function findCheckpoints(text: string): readonly string[] {
  return text.match(/[\w-]{20,}\.[\w-]{20,}\.[\w-]{20,}/g) ?? [];
}

function describe(result: VerifyResult): string {
  const faults = result.faults.map(
    ({ kind, writer_id, event_id, message }) =>
      `${kind}: ${writer_id}: ${message}${event_id === null ? "" : ` (event ${event_id})`}`,
  );
  const more =
    result.faulty > faults.length ? [`rows at fault: ${formatCount(result.faulty)}`] : [];
  const scope = `${formatCount(result.events)} events in ${formatCount(result.chains.length)} chains, ${formatCount(result.checkpoints)} checkpoints`;
  return [...faults, ...more, `${scope}: ${result.valid ? "intact" : "NOT intact"}`].join("\n");
}
