import type { Bot, Verification } from "../bot/bot.ts";
import { covers } from "../cel/covers.ts";
import { botInputs } from "../cel/reference.ts";
import { createResiduals, type Residuals } from "../cel/residuals.ts";
import { FALSE, type Term, TRUE } from "../cel/term.ts";
import type { Policy, Rule } from "./policy.ts";
import { type LoweredRule, reachableVerifications } from "./rule-list.ts";

/** A client as rules can tell clients apart before they see the request. */
export interface Client {
  readonly bot: Bot;
  readonly verification: Verification;
}

/** How a rule stands for some clients. */
export interface Standing {
  readonly rule: Rule;
  readonly residual: Term;
  /** The earlier rule that decides whenever this one would. */
  readonly coveredBy: Rule | undefined;
}

/** Clients for whom all rules stand alike, and the rules that may match them. */
export interface ClientClass {
  readonly clients: readonly Client[];
  readonly standings: readonly Standing[];
}

/** All clients that a policy can tell apart, those alike put together; every list is made. */
export function classifyClients(
  policy: Policy,
  rules: readonly LoweredRule[],
): readonly ClientClass[] {
  const classes = new Map<string, { clients: Client[]; standings: readonly Standing[] }>();
  const numbers = new Map<Term, number>();
  const residualOf = createResiduals();
  for (const client of clientsOf(policy)) {
    const kept = keepRules(rules, client, residualOf);
    const signature = kept.map((entry) => signatureOf(entry, numbers)).join(" ");
    const known = classes.get(signature);
    if (known === undefined) {
      classes.set(signature, { clients: [client], standings: standingsOf(kept) });
    } else {
      known.clients.push(client);
    }
  }
  return [...classes.values()];
}

function clientsOf(policy: Policy): readonly Client[] {
  return [...policy.bots, policy.defaultBot]
    .filter(({ id }, index, bots) => bots.findIndex((bot) => bot.id === id) === index)
    .flatMap((bot) => reachableVerifications(bot).map((verification) => ({ bot, verification })));
}

interface Kept {
  readonly index: number;
  readonly rule: Rule;
  readonly residual: Term;
}

function keepRules(
  rules: readonly LoweredRule[],
  client: Client,
  residualOf: Residuals,
): readonly Kept[] {
  const bot = botInputs(client.bot, client.verification);
  return rules
    .map(({ rule, condition }, index) => ({ index, rule, residual: residualOf(condition, bot) }))
    .filter(({ residual }) => residual !== FALSE);
}

/** Residuals that do not read the bot are one object for all bots. */
function signatureOf({ index, residual }: Kept, numbers: Map<Term, number>): string {
  const number = numbers.get(residual) ?? numbers.size;
  numbers.set(residual, number);
  return `${index}:${number}`;
}

function standingsOf(kept: readonly Kept[]): readonly Standing[] {
  const deciding: Kept[] = [];
  return kept.map((entry) => {
    const { rule, residual } = entry;
    const coverer = deciding.find((earlier) => covers(earlier.residual, residual));
    if (rule.mode === "enforce" && coverer === undefined) deciding.push(entry);
    return { rule, residual, coveredBy: coverer?.rule };
  });
}

/** Whether a standing's rule matches every request of its clients. */
export function isAlwaysTrue(standing: Standing): boolean {
  return standing.residual === TRUE;
}
