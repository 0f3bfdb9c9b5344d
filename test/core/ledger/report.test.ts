import { expect, test } from "vitest";
import { createReport, type LedgerReport } from "../../../src/core/ledger/report.ts";
import type { Tally } from "../../../src/core/ledger/tally.ts";

type Count = Omit<Tally, "hour">;

function count(given: Partial<Count>): Count {
  return {
    site_id: "docs",
    bot_id: "unknown",
    bot_class: "unknown",
    verification: "unverifiable",
    action: "allow",
    rule_id: "runtime.default_action",
    reason: "",
    status: 200,
    enforced: true,
    would_block: false,
    price_amount: "",
    price_currency: "",
    requests: 1,
    ...given,
  };
}

function report(tallies: readonly Count[]): LedgerReport {
  const window = { since: "2026-11-29T00:00:00.000Z", until: "2026-11-30T00:00:00.000Z" };
  return createReport({ ...window, siteId: undefined, tallies, paths: [], rules: [], lost: 0 });
}

const SHADOW = { enforced: false, would_block: true, action: "block" };

test("an empty ledger has an empty report", () => {
  expect(report([])).toMatchObject({
    requests: 0,
    allowed: 0,
    blocked: 0,
    by_bot: [],
    by_rule: [],
  });
});

test("a real crawler and those who borrow its name are one row, told apart", () => {
  const gptbot = { bot_id: "gptbot", bot_class: "ai_training" };
  const [row] = report([
    count({ ...gptbot, verification: "verified", requests: 10 }),
    count({ ...gptbot, verification: "refuted", requests: 10_000, status: 403, action: "block" }),
  ]).by_bot;
  expect(row).toMatchObject({ requests: 10_010, verified: 10, refuted: 10_000, blocked: 10_000 });
});

test("what enforcing would change names verified search crawlers first", () => {
  const changes = report([
    count({ ...SHADOW, bot_id: "unknown", requests: 900 }),
    count({ ...SHADOW, bot_id: "gptbot", bot_class: "ai_training", verification: "verified" }),
    count({ ...SHADOW, bot_id: "googlebot", bot_class: "search", verification: "refuted" }),
    count({ ...SHADOW, bot_id: "bingbot", bot_class: "search", verification: "verified" }),
    count({ requests: 5000 }),
  ]).enforcing_would_change;
  expect(changes.map(({ bot_id, verified }) => `${bot_id} ${verified}`)).toEqual([
    "bingbot true",
    "gptbot true",
    "unknown false",
    "googlebot false",
  ]);
});

test("a refusal that a limit or a verifier caused is part of the blocked, not beside it", () => {
  expect(
    report([
      count({ status: 429, action: "rate_limit_exceeded" }),
      count({ status: 503, action: "block", rule_id: "runtime.verifier_error" }),
      count({ ...SHADOW, rule_id: "runtime.verifier_error" }),
    ]),
  ).toMatchObject({ blocked: 2, rate_limited: 1, verifier_errors: 1, would_block: 1 });
});

test("a host that no site speaks for is a site of its own, without a name", () => {
  const { by_site } = report([
    count({ site_id: "", status: 421, enforced: false, action: "block" }),
  ]);
  expect(by_site).toMatchObject([{ site_id: null, blocked: 1, allowed: 0 }]);
});
