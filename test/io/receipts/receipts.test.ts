import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DecisionEvent } from "../../../src/core/event.ts";
import { protectEvent } from "../../../src/core/ledger/privacy.ts";
import { eventToRow, rowToCanonicalJson } from "../../../src/core/ledger/row.ts";
import type { Policy } from "../../../src/core/policy/policy.ts";
import { receiptClaims } from "../../../src/core/receipt.ts";
import { checkReceipt, type JsonObject } from "../../../src/core/receipt-check.ts";
import { readReceipt, signReceipt } from "../../../src/io/receipts/jws.ts";
import {
  findKeyFaults,
  loadReceiptKeys,
  makePrivateKey,
  readPrivateKey,
} from "../../../src/io/receipts/keys.ts";
import { publicJwkOf, readPublicKeys } from "../../../src/io/receipts/public-keys.ts";
import { createSealer } from "../../../src/io/receipts/sealer.ts";
import { policyFrom } from "../../support/compile.ts";
import { sampleEvent } from "../ledger/sample.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "crawlwall-receipts-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function keyIn(name: string, mode = 0o600): string {
  const file = join(folder, name);
  writeFileSync(file, makePrivateKey(), { mode });
  chmodSync(file, mode);
  return file;
}

function policyWith(signer: string, rule = "audit: {receipt: true}"): Policy {
  return policyFrom(`
site: {id: paid, host: docs.example.com}
receipts: {enabled: true${signer}}
rules:
  - {id: a, priority: 1, when: "true", action: allow, ${rule}}
`);
}

const METERED = {
  request_id: "0123456789abcdef",
  raw_path: "/archive/%61",
  query: "page=1",
  reading: "/archive/b",
  bot_id: "gptbot",
  bot_class: "ai_training",
  bot_operator: "OpenAI",
  claimed: true,
  verified: true,
  verification: "verified",
  evidence: { ip_ranges: { list: "gptbot.json", version: "3", prefix: "203.0.113.0/24" } },
  action: "allow_metered",
  rule_id: "meter",
  reason: "because",
  shadowed: [{ rule_id: "trial", action: "block", status: 402 }],
  faults: [{ rule_id: "odd", message: "no such key" }],
  tags: ["metered"],
  price_amount: "0.002",
  price_currency: "USD",
  price_unit: "request",
} as const;

/** An event with its receipt as an export has it: read from JSON, chain columns and all. */
async function exported(given: Partial<DecisionEvent> = {}): Promise<{
  readonly event: JsonObject;
  readonly keys: ReturnType<typeof readPublicKeys>;
}> {
  const file = keyIn(`${Math.random()}.pem`);
  const event = sampleEvent({ ...METERED, ...given });
  const receipt = await signReceipt(receiptClaims(event), readPrivateKey(file));
  const line = { ...event, receipt_id: event.id, receipt, writer_id: "w", seq: 1, hash: "h" };
  return {
    event: JSON.parse(JSON.stringify(line)),
    keys: readPublicKeys(readFileSync(file, "utf8")),
  };
}

async function errorOf(
  event: JsonObject,
  keys: ReturnType<typeof readPublicKeys>,
): Promise<string | undefined> {
  const fault = checkReceipt(await readReceipt(String(event.receipt), keys), event, new Set());
  return fault && `${fault.kind}: ${fault.message}`;
}

describe("a receipt", () => {
  test("says what the contract lists, and nothing else", async () => {
    const event = sampleEvent({ ...METERED, ts: "2026-11-30T18:00:00.999Z" });
    expect(Object.keys(receiptClaims(event)).sort()).toEqual(
      "action enforced event_digest host iat iss jti method mode path policy_hash price query rule_id status sub verification verified"
        .split(" ")
        .sort(),
    );
    expect(receiptClaims(event)).toMatchObject({
      iss: "docs",
      iat: 1_796_061_600,
      jti: event.id,
      sub: "gptbot",
      price: { amount: "0.002", currency: "USD", unit: "request" },
    });
    expect(receiptClaims(sampleEvent()).price).toBeNull();
  });

  test("proves its event, whatever the chain's columns and the time taken say", async () => {
    const { event, keys } = await exported();
    expect(await errorOf(event, keys)).toBeUndefined();
    expect(
      await errorOf({ ...event, duration_us: 1, seq: 9, hash: "other" }, keys),
    ).toBeUndefined();
  });

  test("shows an edit of any member of its event, and names what a claim repeats", async () => {
    const { event, keys } = await exported();
    const free = ["receipt", "receipt_id", "duration_us", "writer_id", "seq", "hash"];
    const covered = Object.keys(event).filter((name) => !free.includes(name));
    expect(covered).toHaveLength(33);
    for (const name of covered) {
      const edited = { ...event, [name]: name === "id" ? "another" : [event[name], "edited"] };
      const expected = name === "id" ? "foreign: " : "edited: the event was edited";
      expect(await errorOf(edited, keys), name).toContain(expected);
    }
    expect(await errorOf({ ...event, price_amount: "20" }, keys)).toContain(
      "`price_amount` differs",
    );
    expect(await errorOf({ ...event, ip: "1.2.3.4" }, keys)).toContain("no claim repeats");
    expect(await errorOf({ ...event, added: 1 }, keys)).toContain("edited: ");
    expect(await errorOf({ ...event, path: "/x", query: null }, keys)).toContain(
      "`path`, `query` differ",
    );
  });

  test("shows an edit of any of its claims, and names it", async () => {
    const { event, keys } = await exported();
    const [header, payload = "", signature] = String(event.receipt).split(".");
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
    expect(Object.keys(claims)).toHaveLength(18);
    for (const name of Object.keys(claims)) {
      const edited = { ...claims, [name]: name === "iat" ? 1 : "edited" };
      const body = Buffer.from(JSON.stringify(edited)).toString("base64url");
      const error = await errorOf({ ...event, receipt: `${header}.${body}.${signature}` }, keys);
      expect(error, name).toContain("bad_signature: the receipt was edited");
    }
    const cheaper = { ...claims, price: { ...claims.price, amount: "0.001" } };
    const body = Buffer.from(JSON.stringify(cheaper)).toString("base64url");
    expect(await errorOf({ ...event, receipt: `${header}.${body}.${signature}` }, keys)).toBe(
      "bad_signature: the receipt was edited: `price_amount` differs",
    );
  });

  test("of another key is told apart from an edited one", async () => {
    const { event } = await exported();
    const { keys } = await exported();
    expect(await errorOf(event, keys)).toMatch(/^unknown_key: signed by key [\w-]{43}, /);
  });

  test("of another event is told apart, also with the id put right", async () => {
    const { event, keys } = await exported();
    const other = { ...sampleEvent(METERED), receipt: event.receipt };
    expect(await errorOf({ ...other, receipt_id: other.id }, keys)).toMatch(/^foreign: /);
    expect(await errorOf({ ...event, receipt_id: "other" }, keys)).toMatch(/^foreign: /);
  });

  test.each([
    ["nothing", ""],
    ["no JWS", "a.b"],
    ["padding", "e30=.e30.e30"],
    ["another token", "eyJhbGciOiJFZERTQSIsInR5cCI6IkpXVCJ9.e30.AAAA"],
    ["no signature at all", "eyJhbGciOiJub25lIiwidHlwIjoiY3Jhd2x3YWxsLXJlY2VpcHQrand0In0.e30."],
  ])("is malformed: %s", async (_, jws) => {
    expect((await readReceipt(jws, new Map())).kind).toBe("malformed");
  });

  test("digests the row that the ledger hashes", () => {
    const event = sampleEvent(METERED);
    const { receipt, receipt_id, duration_us, ...covered } = JSON.parse(
      rowToCanonicalJson(eventToRow(event)),
    );
    const { event_digest } = receiptClaims(event);
    expect(receiptClaims({ ...covered, receipt, receipt_id, duration_us: 7 }).event_digest).toBe(
      event_digest,
    );
  });
});

describe("keys", () => {
  test("are made once in the data folder, for nobody else to read", () => {
    const policies = [policyWith("")];
    const first = loadReceiptKeys(policies, folder);
    const second = loadReceiptKeys(policies, folder);
    if (first.kind === "faulty" || second.kind === "faulty") throw new Error("faulty");
    expect(statSync(join(folder, "receipt-key.pem")).mode & 0o777).toBe(0o600);
    expect(second.keys.jwks).toBe(first.keys.jwks);
  });

  test("are not made where no rule asks for a receipt", () => {
    const loaded = loadReceiptKeys([policyWith("", "mode: enforce")], folder);
    expect(loaded.kind === "keys" && loaded.keys.jwks).toBe('{"keys":[]}');
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each([
    ["0640", "can be read by others (mode 0640); run `chmod 600"],
    ["0604", "can be read by others (mode 0604)"],
    ["0660", "can be read by others (mode 0660)"],
  ])("that others can reach (%s) are refused with a line that says what to do", (mode, line) => {
    const file = keyIn("shared.pem", Number.parseInt(mode, 8));
    const policy = policyWith(`, signer: {key_file: ${file}}`);
    const loaded = loadReceiptKeys([policy], folder);
    expect(loaded.kind === "faulty" && loaded.faults[0]).toContain(line);
    expect(loaded.kind === "faulty" && loaded.faults[0]).toMatch(/receipts\.signer\.key_file/);
  });

  test.each([
    ["missing", undefined, "cannot be read; `crawlwall keygen` makes a key"],
    ["no key", "hello", "holds no Ed25519 private key in PEM"],
  ])("that are %s are refused", (_, text, line) => {
    const file = join(folder, "odd.pem");
    if (text !== undefined) writeFileSync(file, text, { mode: 0o600 });
    const loaded = loadReceiptKeys([policyWith(`, signer: {key_file: ${file}}`)], folder);
    expect(loaded.kind === "faulty" && loaded.faults[0]).toContain(line);
  });

  test("of earlier times that cannot be listed are a fault with its place", () => {
    writeFileSync(join(folder, "receipt-keys"), "");
    const loaded = loadReceiptKeys([policyWith("", "mode: enforce")], folder);
    expect(loaded.kind === "faulty" && loaded.faults).toEqual([
      expect.stringContaining(`${join(folder, "receipt-keys")}: ENOTDIR`),
    ]);
  });

  test("that a check of the policy cannot use are told, and nothing is made", () => {
    const missing = policyWith(`, signer: {key_file: ${join(folder, "none.pem")}}`);
    const usable = policyWith(`, signer: {key_file: ${keyIn("own.pem")}}`);
    expect(findKeyFaults([missing, usable, policyWith("")])).toEqual([
      expect.stringContaining("none.pem` cannot be read"),
    ]);
    expect(readdirSync(folder)).toEqual(["own.pem"]);
  });

  test("of earlier times stay published, so that old receipts can still be checked", async () => {
    const policies = [policyWith("")];
    loadReceiptKeys(policies, folder);
    const old = readPrivateKey(join(folder, "receipt-key.pem"));
    const receipt = await signReceipt(receiptClaims(sampleEvent()), old);
    rmSync(join(folder, "receipt-key.pem"));
    const loaded = loadReceiptKeys(policies, folder);
    if (loaded.kind === "faulty") throw new Error("faulty");
    const [policy] = policies;
    const fresh = policy && loaded.keys.keyOf(policy);
    const jwks: { readonly keys: readonly { readonly kid: string }[] } = JSON.parse(
      loaded.keys.jwks,
    );
    expect(jwks.keys.map(({ kid }) => kid)).toEqual([fresh?.id, old.id]);
    expect((await readReceipt(receipt, readPublicKeys(loaded.keys.jwks))).kind).toBe("signed");
  });

  test("never publish their private half", () => {
    const { privateKey } = readPrivateKey(keyIn("own.pem"));
    expect(Object.keys(publicJwkOf(privateKey))).not.toContain("d");
  });

  test("have the thumbprint of RFC 8037, appendix A.3", () => {
    const jwk = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" };
    const [id] = readPublicKeys(JSON.stringify(jwk)).keys();
    expect(id).toBe("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
  });
});

describe("sealing", () => {
  function sealerWith(query: "keep" | "drop", file: string | undefined) {
    const errors: unknown[] = [];
    const key = file === undefined ? undefined : readPrivateKey(file);
    const sealer = createSealer({
      keyOf: () => key,
      protect: (event) => protectEvent(event, { ip: "truncated", query }, (ip) => ip),
      onError: (error) => errors.push(error),
    });
    return { sealer, errors };
  }

  test("says no more than the ledger keeps, and proves what it keeps", async () => {
    const file = keyIn("own.pem");
    const { sealer } = sealerWith("drop", file);
    const event = sampleEvent({ ...METERED, bot_operator: "two\nlines" });
    const sealed = await sealer.seal(event, policyWith(""));
    expect(sealed).toMatchObject({ ip: event.ip, query: event.query, receipt_id: event.id });
    const stored = { ...sealed, ip: "203.0.113.0", query: null, bot_operator: "two\ufffdlines" };
    const keys = readPublicKeys(readFileSync(file, "utf8"));
    expect(await errorOf(stored, keys)).toBeUndefined();
    expect(
      Buffer.from(String(sealed.receipt).split(".")[1] ?? "", "base64url").toString(),
    ).toContain('"query":null');
  });

  test("that fails leaves the event as it is, told and counted", async () => {
    const { sealer, errors } = sealerWith("keep", undefined);
    const event = sampleEvent(METERED);
    expect(await sealer.seal(event, policyWith(""))).toBe(event);
    expect(sealer.counters()).toEqual({ signed: 0, failed: 1 });
    expect(errors).toHaveLength(1);
  });

  test("is settled when every event has been handed back", async () => {
    const { sealer } = sealerWith("keep", keyIn("own.pem"));
    const done: string[] = [];
    for (let count = 0; count < 20; count += 1) {
      void sealer.seal(sampleEvent(), policyWith("")).then(({ id }) => done.push(id));
    }
    await sealer.settled();
    expect(done).toHaveLength(20);
    await sealer.settled();
  });
});
