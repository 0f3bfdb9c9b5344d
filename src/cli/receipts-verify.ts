import { createReadStream, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Command } from "commander";
import {
  checkReceipt,
  findStripped,
  isObject,
  type JsonObject,
  type ReceiptFault,
} from "../core/receipt-check.ts";
import { readReceipt } from "../io/receipts/jws.ts";
import { type PublicKeys, readPublicKeys } from "../io/receipts/public-keys.ts";
import { CannotRun, EXIT, type ExitCode, note, printJson, runCommand } from "./exit.ts";

interface Options {
  readonly file: string;
  readonly publicKey?: string;
  readonly jwks?: string;
  readonly json?: boolean;
}

/** `crawlwall receipts verify`: holds receipts to their signatures and to their events. */
export function registerReceiptsVerify(receipts: Command): void {
  receipts
    .command("verify")
    .description("check receipts, alone or with their events: an export, or a receipt a line")
    .requiredOption("--file <file>", "`ledger export` lines, or receipts, one a line; `-` is stdin")
    .option("--public-key <file>", "whose signatures count: PEM or JWK")
    .option("--jwks <file>", "whose signatures count: a JWK set")
    .option("--json", "print JSON")
    .action((options: Options) => runCommand(() => verify(options)));
}

/** One receipt, and what is wrong with it. */
interface Verdict {
  readonly id: string | null;
  readonly ok: boolean;
  readonly error: string | null;
}

async function verify(options: Options): Promise<ExitCode> {
  const keys = readKeys(options);
  const verdicts: Verdict[] = [];
  const seen = new Set<string>();
  let count = 0;
  for await (const line of linesOf(options.file)) {
    count += 1;
    const text = line.trim();
    const verdict = text === "" ? undefined : await judge(text, count, keys, seen);
    if (verdict !== undefined) verdicts.push(verdict);
  }
  const invalid = verdicts.filter(({ ok }) => !ok);
  const valid = verdicts.length - invalid.length;
  if (options.json === true) {
    printJson({ valid, invalid: invalid.length, receipts: verdicts });
  } else {
    const lines = invalid.map(({ id, error }) => `${id ?? "?"}: ${error}`);
    process.stdout.write([...lines, `${valid} valid, ${invalid.length} invalid`, ""].join("\n"));
  }
  // A file that was stripped of every receipt must not pass for one that is right.
  if (verdicts.length === 0) note(`crawlwall: no receipt in ${options.file}`);
  return invalid.length === 0 && valid > 0 ? EXIT.fine : EXIT.found;
}

/** Undefined for an event that has no receipt and needs none. */
async function judge(
  text: string,
  line: number,
  keys: PublicKeys,
  seen: Set<string>,
): Promise<Verdict | undefined> {
  if (!text.startsWith("{")) return judgeReceipt(text, undefined, keys, seen);
  const event = parseObject(text);
  if (event === undefined) {
    const message = `line ${line} is neither an event nor a receipt`;
    return { id: null, ok: false, error: `malformed: ${message}` };
  }
  const stripped = findStripped(event);
  if (stripped !== undefined) return verdictOf(idOf(event), stripped);
  const { receipt } = event;
  return typeof receipt === "string" ? judgeReceipt(receipt, event, keys, seen) : undefined;
}

async function judgeReceipt(
  jws: string,
  event: JsonObject | undefined,
  keys: PublicKeys,
  seen: Set<string>,
): Promise<Verdict> {
  const read = await readReceipt(jws, keys);
  const fault = checkReceipt(read, event, seen);
  const jti = read.kind === "malformed" ? null : read.claims.jti;
  if (read.kind === "signed" && typeof jti === "string") seen.add(jti);
  const id = typeof jti === "string" ? jti : null;
  return verdictOf(event === undefined ? id : idOf(event), fault);
}

function verdictOf(id: string | null, fault: ReceiptFault | undefined): Verdict {
  const error = fault === undefined ? null : `${fault.kind}: ${fault.message}`;
  return { id, ok: fault === undefined, error };
}

function idOf({ id }: JsonObject): string | null {
  return typeof id === "string" ? id : null;
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function readKeys({ publicKey, jwks }: Options): PublicKeys {
  if ((publicKey === undefined) === (jwks === undefined)) {
    throw new CannotRun(["name either `--public-key` or `--jwks`"]);
  }
  const file = publicKey ?? jwks ?? "";
  const text = readText(file);
  try {
    return readPublicKeys(text);
  } catch (error) {
    throw new CannotRun([`\`${file}\` holds no Ed25519 public key`], { cause: error });
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new CannotRun([`\`${file}\` cannot be read`], { cause: error });
  }
}

async function* linesOf(file: string): AsyncIterable<string> {
  const input = file === "-" ? process.stdin : createReadStream(file);
  try {
    yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  } catch (error) {
    throw new CannotRun([`\`${file}\` cannot be read`], { cause: error });
  }
}
