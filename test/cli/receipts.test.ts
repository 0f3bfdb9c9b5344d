import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { receiptClaims } from "../../src/core/receipt.ts";
import { signReceipt } from "../../src/io/receipts/jws.ts";
import { readPrivateKey } from "../../src/io/receipts/keys.ts";
import { sampleEvent } from "../io/ledger/sample.ts";
import { root } from "../support/programs.ts";

let folder: string;
let jwks: string;
let receipts: readonly string[];
let lines: readonly string[];

function crawlwall(...args: readonly string[]) {
  return spawnSync(process.execPath, [`${root}bin/crawlwall.js`, ...args], {
    cwd: folder,
    encoding: "utf8",
  });
}

function verify(text: string, ...keys: readonly string[]) {
  writeFileSync(join(folder, "given"), text);
  const key = keys.length > 0 ? keys : ["--jwks", jwks];
  return crawlwall("receipts", "verify", "--file", "given", "--json", ...key);
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "crawlwall-cli-receipts-"));
  const made = crawlwall("keygen", "--out", "keys/own.pem", "--json");
  const { jwk, public_key } = JSON.parse(made.stdout);
  jwks = join(folder, "jwks.json");
  writeFileSync(jwks, JSON.stringify({ keys: [{ kty: "RSA", n: "AQ", e: "AQAB" }, jwk] }));
  writeFileSync(join(folder, "public.pem"), public_key);
  writeFileSync(join(folder, "public.json"), JSON.stringify(jwk));
  const key = readPrivateKey(join(folder, "keys/own.pem"));
  const events = [sampleEvent(), sampleEvent({ path: `/${"ü".repeat(1000)}` })];
  receipts = await Promise.all(events.map((event) => signReceipt(receiptClaims(event), key)));
  lines = events.map((event, index) =>
    JSON.stringify({ ...event, receipt_id: event.id, receipt: receipts[index] }),
  );
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("keygen", () => {
  test("makes a key that nobody else can read, and never overwrites one", () => {
    const before = readFileSync(join(folder, "keys/own.pem"), "utf8");
    const again = crawlwall("keygen", "--out", "keys/own.pem");
    expect(again.status).toBe(2);
    expect(again.stderr).toContain("a key is never overwritten");
    expect(readFileSync(join(folder, "keys/own.pem"), "utf8")).toBe(before);
    expect(statSync(join(folder, "keys/own.pem")).mode & 0o777).toBe(0o600);
  });
});

describe("receipts verify", () => {
  test("takes the lines of an export, and receipts alone as a crawler has them", () => {
    for (const text of [lines.join("\n"), `${receipts.join("\n")}\n`]) {
      const run = verify(text);
      expect(JSON.parse(run.stdout)).toMatchObject({ valid: 2, invalid: 0 });
      expect(run.status).toBe(0);
    }
  });

  test.each([
    ["--public-key", "public.pem"],
    ["--public-key", "public.json"],
    ["--jwks", "jwks.json"],
  ])("takes %s %s", (flag, file) => {
    expect(verify(lines.join("\n"), flag, file).status).toBe(0);
  });

  test("fails a receipt that comes twice", () => {
    for (const [text, id] of [
      [lines[0], JSON.parse(lines[0] ?? "").id],
      [receipts[0], JSON.parse(lines[0] ?? "").id],
    ]) {
      const run = verify(`${text}\n${text}\n`);
      expect(JSON.parse(run.stdout)).toMatchObject({
        valid: 1,
        invalid: 1,
        receipts: [{ ok: true }, { id, ok: false, error: expect.stringContaining("duplicate: ") }],
      });
      expect(run.status).toBe(1);
    }
  });

  test.each([
    ["its receipt", { receipt: null }, "stripped: the event names receipt"],
    [
      "its receipt and the id, being metered",
      { receipt: null, receipt_id: null, action: "allow_metered" },
      "stripped: the event is metered",
    ],
    ["its own receipt for another's", { id: "other" }, "foreign: "],
    ["a member", { ip: "192.0.2.1" }, "edited: "],
  ])("fails an event that lost %s", (_, change, error) => {
    const edited = JSON.stringify({ ...JSON.parse(lines[0] ?? ""), ...change });
    const run = verify(`${edited}\n${lines[1]}`);
    expect(JSON.parse(run.stdout).receipts[0].error).toContain(error);
    expect(run.status).toBe(1);
  });

  test("does not take a file without any receipt for one that is right", () => {
    const plain = JSON.stringify(sampleEvent());
    const run = verify(plain);
    expect(JSON.parse(run.stdout)).toEqual({ valid: 0, invalid: 0, receipts: [] });
    expect(run.stderr).toContain("no receipt in given");
    expect(run.status).toBe(1);
    expect(verify(`${plain}\n${lines[0]}`).status).toBe(0);
  });

  test("passes a broken line over, told, and goes on", () => {
    const run = verify(`{"id":\n${lines[0]}\nhello\n`);
    expect(JSON.parse(run.stdout)).toMatchObject({ valid: 1, invalid: 2 });
    expect(run.status).toBe(1);
  });

  test.each([
    [["--file", "given"], "name either"],
    [["--file", "given", "--jwks", "a", "--public-key", "b"], "name either"],
    [["--file", "nowhere", "--jwks", "jwks.json"], "`nowhere` cannot be read"],
    [["--file", "given", "--jwks", "given"], "holds no Ed25519 public key"],
  ])("cannot run with %j", (args, message) => {
    writeFileSync(join(folder, "given"), "x");
    const run = crawlwall("receipts", "verify", ...args);
    expect(run.stderr).toContain(message);
    expect(run.status).toBe(2);
  });
});
