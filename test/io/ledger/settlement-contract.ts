import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DecisionEvent } from "../../../src/core/event.ts";
import { eventToRow } from "../../../src/core/ledger/row.ts";
import type { LoggedAnswer } from "../../../src/core/ledger/settlement.ts";
import type { MeteredLine, Statement } from "../../../src/core/ledger/statement.ts";
import type { EventPlace } from "../../../src/io/ledger/events.ts";
import type { SettleCounts } from "../../../src/io/ledger/settle.ts";
import type { MeteredPage } from "../../../src/io/ledger/statement.ts";
import { ask, type Subject } from "./contract.ts";
import { sampleEvent } from "./sample.ts";

const EVERYTHING = { since: "2026-01-01T00:00:00.000Z", until: undefined, siteId: undefined };

const NOTHING = { requests: 0, amount: "0" };

function at(second: number): string {
  return new Date(Date.UTC(2026, 10, 30, 18, 0, second)).toISOString();
}

function metered(requestId: string, given: Partial<DecisionEvent> = {}): DecisionEvent {
  return sampleEvent({
    request_id: requestId,
    ts: at(10),
    bot_id: "gptbot",
    bot_operator: "OpenAI",
    action: "allow_metered",
    rule_id: "meter",
    price_amount: "0.002",
    price_currency: "USD",
    price_unit: "request",
    ...given,
  });
}

/** What every ledger promises about money, whatever keeps it. */
export function settlementContract(
  name: string,
  prepare: (dataDir: string) => Promise<Subject>,
): void {
  describe(name, () => {
    let dataDir: string;
    let url: string;
    beforeEach(async () => {
      dataDir = mkdtempSync(join(tmpdir(), "crawlwall-settle-"));
      ({ url } = await prepare(dataDir));
    });
    afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

    async function write(...events: readonly DecisionEvent[]): Promise<void> {
      const rows = JSON.stringify(events.map(eventToRow));
      await ask(url, dataDir, (query) => query("append", { rows, retried: false }));
    }

    function settle(...answers: readonly LoggedAnswer[]): Promise<SettleCounts> {
      return ask(url, dataDir, (query) => query("settle", { answers, at: at(59) }));
    }

    function noteUnmatched(since: string, until: string, hosts: readonly string[]) {
      const request = { since, until, hosts, at: at(59) };
      return ask(url, dataDir, (query) => query("noteUnmatched", request));
    }

    function statement(): Promise<Statement> {
      return ask(url, dataDir, (query) => query("statement", EVERYTHING));
    }

    /** The state of each request's events, in order of time. */
    async function states(): Promise<readonly string[]> {
      const lines: MeteredLine[] = [];
      let after: EventPlace | undefined;
      do {
        const page: MeteredPage = await ask(url, dataDir, (query) =>
          query("metered", { ...EVERYTHING, after, limit: 2 }),
        );
        lines.push(...page.lines);
        after = page.last;
      } while (after !== undefined);
      return lines.map(
        ({ path, state, upstream_status, bytes }) =>
          `${path} ${state} ${upstream_status ?? "-"} ${bytes ?? "-"}`,
      );
    }

    test.each([
      [200, "settled"],
      [206, "settled"],
      [299, "settled"],
      [304, "void"],
      [404, "void"],
      [503, "void"],
      [0, "void"],
    ])("an answer of %i makes a metered request %s, once", async (status, state) => {
      await write(metered("request-1"), metered("request-2"));
      const answer = { requestId: "request-1", status, bytes: 4096 };
      const first = await settle(answer, answer, { ...answer, requestId: "of another ledger" });
      const isPaid = state === "settled";
      expect(first).toEqual({ settled: isPaid ? 1 : 0, void: isPaid ? 0 : 1, known: 0 });
      expect(await settle({ ...answer, status: 200 })).toEqual({ settled: 0, void: 0, known: 1 });
      expect(await states()).toEqual([`/archive/a ${state} ${status} 4096`, "/archive/a held - -"]);
    });

    test("of several events of one request the last is paid for, the others are void", async () => {
      await write(
        metered("request-1", { ts: at(12), path: "/third" }),
        metered("request-1", { ts: at(10), path: "/first" }),
        metered("request-1", { ts: at(11), path: "/second" }),
      );
      const answer = { requestId: "request-1", status: 200, bytes: 1 };
      expect(await settle(answer)).toEqual({ settled: 1, void: 2, known: 0 });
      const all = ["/first void - -", "/second void - -", "/third settled 200 1"];
      expect(await states()).toEqual(all);
      await write(metered("request-1", { ts: at(13), path: "/late" }));
      expect(await settle(answer)).toEqual({ settled: 0, void: 1, known: 3 });
      expect(await states()).toEqual([...all, "/late void - -"]);
    });

    test("requests that are not metered are never settled", async () => {
      await write(sampleEvent({ request_id: "request-1" }));
      const answer = { requestId: "request-1", status: 200, bytes: 1 };
      expect(await settle(answer)).toEqual({ settled: 0, void: 0, known: 0 });
      expect(await states()).toEqual([]);
    });

    test("what the log of its time and host misses is unmatched, until a line is found", async () => {
      await write(
        metered("before", { ts: at(1), path: "/before" }),
        metered("found", { ts: at(10), path: "/found" }),
        metered("missed", { ts: at(11), path: "/missed" }),
        metered("elsewhere", { ts: at(12), path: "/elsewhere", host: "other.example.com" }),
        metered("after", { ts: at(50), path: "/after" }),
      );
      await settle({ requestId: "found", status: 200, bytes: 1 });
      const hosts = ["docs.example.com"];
      expect(await noteUnmatched(at(10), at(20), hosts)).toBe(1);
      expect(await noteUnmatched(at(10), at(20), hosts)).toBe(0);
      expect(await states()).toEqual([
        "/before held - -",
        "/found settled 200 1",
        "/missed unmatched - -",
        "/elsewhere held - -",
        "/after held - -",
      ]);
      await settle({ requestId: "missed", status: 500, bytes: 2 });
      expect((await states())[2]).toBe("/missed void 500 2");
    });

    test("a statement adds up exactly, by crawler, operator, rule, path, month and currency", async () => {
      await write(
        metered("a"),
        metered("b", { price_amount: "0.30" }),
        metered("c", { bot_id: "claudebot", bot_operator: "Anthropic", rule_id: "other" }),
        metered("d", { ts: "2026-12-01T00:00:00.000Z", path: "/b" }),
        metered("e", { price_currency: "EUR", price_amount: "1" }),
        metered("f", { enforced: false, mode: "shadow", price_amount: "9" }),
      );
      await settle(
        { requestId: "a", status: 200, bytes: 1 },
        { requestId: "b", status: 200, bytes: 1 },
        { requestId: "c", status: 500, bytes: 1 },
      );
      const found = await statement();
      expect(found.totals).toEqual([
        {
          currency: "USD",
          held: { requests: 1, amount: "0.002" },
          settled: { requests: 2, amount: "0.302" },
          void: { requests: 1, amount: "0.002" },
          unmatched: NOTHING,
        },
        {
          currency: "EUR",
          held: { requests: 1, amount: "1" },
          settled: NOTHING,
          void: NOTHING,
          unmatched: NOTHING,
        },
      ]);
      expect(found.not_enforced).toEqual([{ currency: "USD", requests: 1, amount: "9" }]);
      expect(found.by_crawler.map(({ bot_id, currency }) => `${bot_id} ${currency}`)).toEqual([
        "gptbot USD",
        "claudebot USD",
        "gptbot EUR",
      ]);
      expect(found.by_operator[1]).toMatchObject({
        bot_operator: "Anthropic",
        void: { requests: 1, amount: "0.002" },
      });
      expect(found.by_rule.map(({ rule_id }) => rule_id)).toEqual(["meter", "meter", "other"]);
      expect(found.by_month).toMatchObject([
        { month: "2026-11", currency: "USD" },
        { month: "2026-11", currency: "EUR" },
        { month: "2026-12", held: { requests: 1, amount: "0.002" } },
      ]);
      expect(found.top_paths.map(({ path, currency }) => `${path} ${currency}`)).toEqual([
        "/archive/a USD",
        "/archive/a EUR",
        "/b USD",
      ]);
    });
  });
}
