import type { Command } from "commander";
import type { DecisionEvent } from "../core/event.ts";
import type { ConsideredRule, Explanation } from "../core/ledger/explain.ts";
import { storedRowToJson } from "../core/ledger/row.ts";
import type { LedgerQuery } from "../io/ledger/ledger.ts";
import type { KeptSettlement } from "../io/ledger/settle.ts";
import { CannotRun, EXIT, type ExitCode, printJson, runCommand } from "./exit.ts";
import { type LedgerPlace, withLedger, withLedgerFlags } from "./ledger/access.ts";

interface Options extends LedgerPlace {
  readonly json?: boolean;
}

/** `crawlwall ledger explain`: one decision, shown whole and evaluated again. */
export function registerLedgerExplain(ledger: Command): void {
  withLedgerFlags(
    ledger
      .command("explain")
      .description("show one decision whole, its rules evaluated again on what was recorded")
      .argument("<id>", "the event's id, as in X-Crawlwall-Event or a refusal's instance"),
  )
    .option("--json", "print JSON")
    .action((id: string, options: Options) => runCommand(() => explain(id, options)));
}

async function explain(id: string, options: Options): Promise<ExitCode> {
  const explanation = await withLedger(options, "read", (query) =>
    read(query, id.replace(/^urn:uuid:/, "").toLowerCase()),
  );
  if (options.json === true) printJson(explanation);
  else process.stdout.write(`${describe(explanation)}\n`);
  return EXIT.fine;
}

/** An explanation, and what became of the event if it is metered. */
interface Explained extends Explanation {
  readonly settlements: readonly KeptSettlement[];
}

async function read(query: LedgerQuery, id: string): Promise<Explained> {
  const row = await query("event", id);
  if (row === undefined) throw new CannotRun([`no event \`${id}\` in the ledger`]);
  const event: DecisionEvent = JSON.parse(storedRowToJson(row));
  const hash = event.policy_hash ?? "";
  const document = await query("policy", hash);
  // Loaded by this command alone: evaluating takes more modules than all the rest of `ledger`.
  const { restorePolicy } = await import("../core/policy/restore.ts");
  const { explainEvent } = await import("../core/ledger/explain.ts");
  const policy = document === undefined ? undefined : restorePolicy(document, hash);
  return { ...explainEvent(event, policy), settlements: await query("settlements", id) };
}

function describe({ event, bot, readings, rules, note, settlements }: Explained): string {
  const lines: readonly Line[] = [
    ...requestLines(event),
    ["bot", `${event.bot_id} (${event.bot_class}${bot === null ? "" : `, ${bot.name}`})`],
    ...decisionLines(event),
    ...paymentLines(event, settlements),
    ...(readings ?? []).map((text, index) => [`reading ${index + 1}`, text] as const),
  ];
  const shown = lines.filter(([, value]) => value !== null);
  return [
    ...shown.map(([title, value]) => `${title.padEnd(12)} ${value}`),
    ...(rules === null ? [] : ["", ...rules.map(describeRule)]),
    ...(note === null ? [] : ["", note]),
  ].join("\n");
}

type Line = readonly [title: string, value: string | null];

function requestLines(event: DecisionEvent): readonly Line[] {
  return [
    ["event", event.id],
    ["time", event.ts],
    ["site", `${event.site_id ?? "none"} (${event.mode ?? "no mode"})`],
    ["request", `${event.method} ${event.host}${event.raw_path ?? event.path}`],
    ["query", event.query],
    ["address", event.ip],
    ["user agent", event.user_agent],
  ];
}

function decisionLines(event: DecisionEvent): readonly Line[] {
  const served = event.would_block ? "served; enforce would have refused it" : "served";
  return [
    ["identity", event.claimed ? event.verification : "no claim to be a known bot"],
    ["evidence", event.evidence === null ? null : JSON.stringify(event.evidence)],
    ["decision", `${event.action} by ${event.rule_id}`],
    ["reason", event.reason],
    ["answer", `${event.status}, ${event.status >= 400 ? "refused" : served}`],
    ["decided by", event.reading],
    ["policy", event.policy_hash],
  ];
}

/** What a crawler may dispute: the price, the proof of it, and what was delivered. */
function paymentLines(
  event: DecisionEvent,
  settlements: readonly KeptSettlement[],
): readonly Line[] {
  const { price_amount: amount, price_currency: currency, price_unit: unit } = event;
  return [
    ["price", amount === null ? null : `${currency} ${amount} a ${unit}`],
    ...settlements.map(describeSettlement),
    ["receipt", event.receipt],
  ];
}

function describeSettlement({ state, upstream_status, bytes, at }: KeptSettlement): Line {
  const answer = upstream_status === null ? "" : ` by status ${upstream_status}, ${bytes} bytes`;
  return [state, `${at}${answer}`];
}

function describeRule(rule: ConsideredRule): string {
  const results = rule.results.map((result, index) => {
    const reading = rule.results.length > 1 ? `reading ${index + 1}: ` : "";
    return reading + describeResult(result);
  });
  const mark = rule.decided ? "> " : "  ";
  const mode = rule.mode === "shadow" ? ", shadow" : "";
  const limit =
    rule.limit === null
      ? ""
      : `, ${rule.limit.rpm} a minute by ${rule.limit.key}, at most ${rule.limit.burst} at once`;
  const place = rule.priority === null ? "last" : `priority ${rule.priority}`;
  return `${mark}${rule.rule_id} (${place}${mode}${limit}): ${results.join("; ")}`;
}

function describeResult(result: ConsideredRule["results"][number]): string {
  switch (result.kind) {
    case "matches":
      return "matches";
    case "does_not_match":
      return "does not match";
    case "fails":
      return `cannot be evaluated: ${result.message}`;
    case "unknown":
      return `unknown: ${result.missing.join(", ")} was not recorded`;
    case "not_considered":
      return "not considered";
  }
}
