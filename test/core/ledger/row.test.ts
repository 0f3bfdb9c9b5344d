import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "../../../src/core/canonical-json.ts";
import { rowHash } from "../../../src/core/ledger/chain.ts";
import { cleanRow } from "../../../src/core/ledger/clean.ts";
import {
  CSV_HEADER,
  EVENT_COLUMNS,
  eventToRow,
  rowToCanonicalJson,
  storedRowToCsv,
  storedRowToJson,
} from "../../../src/core/ledger/row.ts";
import { sampleEvent } from "../../io/ledger/sample.ts";

const anyText = fc.string({ unit: "binary", maxLength: 50 });

test("the columns are the names of the contract, in its order", () => {
  expect(EVENT_COLUMNS.map(([name]) => name).join(", ")).toBe(
    "id, ts, request_id, site_id, host, method, path, raw_path, query, reading, ip, user_agent, bot_id, bot_class, bot_operator, claimed, verified, verification, evidence, action, rule_id, reason, status, mode, enforced, would_block, shadowed, faults, tags, price_amount, price_currency, price_unit, receipt_id, receipt, policy_hash, duration_us",
  );
  expect(Object.keys(sampleEvent())).toEqual(EVENT_COLUMNS.map(([name]) => name));
});

test("a row's canonical JSON is that of its event (RFC 8785)", () => {
  fc.assert(
    fc.property(anyText, anyText, fc.option(anyText, { nil: null }), (path, key, reason) => {
      const event = sampleEvent({ path, reason, evidence: { a: { [key]: 1, b: [path] } } });
      expect(rowToCanonicalJson(eventToRow(event))).toBe(canonicalJson(event));
    }),
  );
});

test("so is that of an event with nothing to note, whatever its columns hold", () => {
  const names = EVENT_COLUMNS.flatMap(([name, kind]) => (kind === "text" ? [name] : []));
  const texts = fc.record(Object.fromEntries(names.map((name) => [name, anyText])));
  const numbers = fc.tuple(fc.nat(), fc.nat(), fc.boolean(), fc.boolean());
  fc.assert(
    fc.property(texts, numbers, (text, [status, duration_us, claimed, would_block]) => {
      const event = { ...sampleEvent(), ...text, status, duration_us, claimed, would_block };
      const verified = !claimed;
      for (const one of [event, { ...event, verified, tags: ["b"] }, { ...event, faults: [] }]) {
        expect(rowToCanonicalJson(eventToRow(one))).toBe(canonicalJson(one));
      }
    }),
  );
});

test("a row's hash can be made from an export, as the docs say", () => {
  const event = sampleEvent({ tags: ["b", "a"], evidence: { web_bot_auth: { key_id: "k" } } });
  const line = ["crawlwall-ledger/1", "w", "7", "f".repeat(64), canonicalJson(event)].join("\n");
  const expected = createHash("sha256").update(line).digest("hex");
  expect(rowHash("w", 7, "f".repeat(64), eventToRow(event))).toBe(expected);
});

describe("a row that is cleaned", () => {
  test("keeps nothing that a database or terminal could choke on, however it came", () => {
    const text = fc.string({ unit: "binary", maxLength: 3000 });
    fc.assert(
      fc.property(text, text, (path, agent) => {
        const event = sampleEvent({
          path,
          user_agent: agent,
          evidence: { reverse_dns: { ptr: path } },
        });
        const row = cleanRow(eventToRow(event));
        const all = JSON.stringify(row.map((value) => (typeof value === "string" ? value : "")));
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must be gone
        expect(row.join("")).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
        expect(all.isWellFormed()).toBe(true);
        expect(Buffer.byteLength(String(row[6]))).toBeLessThanOrEqual(2048);
        expect(Buffer.byteLength(String(row[11]))).toBeLessThanOrEqual(512);
        expect(cleanRow(row)).toBe(row);
      }),
      { numRuns: 50 },
    );
  });

  test("is the same object when it was clean", () => {
    const row = eventToRow(sampleEvent({ path: "/ü/日本", tags: ["x"] }));
    expect(cleanRow(row)).toBe(row);
  });
});

describe("an exported event", () => {
  const link = ["w", 1, "0", "1", 1] as const;

  test("is one line of JSON with every name, null where there is nothing", () => {
    const event = sampleEvent({ path: '/"quoted"\\', tags: ["a"] });
    const line = storedRowToJson([...eventToRow(event), ...link]);
    expect(line).not.toContain("\n");
    expect(JSON.parse(line)).toEqual({
      ...event,
      writer_id: "w",
      seq: 1,
      prev_hash: "0",
      hash: "1",
      hash_version: 1,
    });
  });

  test("is one line of CSV (RFC 4180), arrays as JSON, nothing a spreadsheet would run", () => {
    const event = sampleEvent({
      path: '/a,"b"',
      user_agent: "=cmd|' /C calc'!A0",
      tags: ["x", "y"],
      reason: null,
    });
    const cells = storedRowToCsv([...eventToRow(event), ...link]);
    expect(cells).toContain('"/a,""b"""');
    expect(cells).toContain(",'=cmd|");
    expect(cells).toContain('"[""x"",""y""]"');
    expect(CSV_HEADER.split(",")).toHaveLength(41);
  });
});
