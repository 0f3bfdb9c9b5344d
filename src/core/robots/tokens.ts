import type { Bot } from "../bot/bot.ts";
import type { Policy } from "../policy/policy.ts";
import type { RobotsNote } from "./note.ts";

/** A group to be written: the name that a crawler looks for, and the bot that the rules take it for. */
export interface Addressee {
  readonly token: string;
  readonly bot: Bot;
}

/** RFC 9309 section 2.2.1 has letters, `-` and `_`; crawlers in use also have digits and dots. */
const TOKEN = /^[A-Za-z0-9_.-]{1,64}$/;

/**
 * Whom the file speaks to: each bot by its robots.txt token and by the other product tokens that it
 * is known by, in the order of the policy; last everybody else. No token twice.
 */
export function addresseesOf(policy: Policy): {
  readonly addressees: readonly Addressee[];
  readonly notes: readonly RobotsNote[];
} {
  const byToken = new Map<string, Addressee>();
  const notes: RobotsNote[] = [];
  for (const bot of policy.bots) {
    if (bot.isDefault) continue;
    const tokens = [bot.robotsToken, ...bot.match.userAgents].filter((text) => TOKEN.test(text));
    if (tokens.length === 0) notes.push(noToken(bot));
    for (const token of tokens) {
      const key = token.toLowerCase();
      if (!byToken.has(key)) byToken.set(key, { token, bot: meant(policy, token, bot) });
    }
  }
  const everybody: Addressee = { token: "*", bot: policy.defaultBot };
  return { addressees: [...byToken.values(), everybody], notes };
}

/**
 * Enforcement knows a crawler by its User-Agent: where that claims another bot, its rules hold. A
 * token that no User-Agent has (Google-Extended) speaks for the bot that the policy gives it to.
 */
function meant(policy: Policy, token: string, bot: Bot): Bot {
  const claimed = policy.identify(token);
  return claimed.isDefault ? bot : claimed;
}

function noToken(bot: Bot): RobotsNote {
  return {
    ruleId: "",
    code: "no_token",
    message: `bot \`${bot.id}\` has no name that robots.txt can hold; write \`robots_token\``,
    witness: undefined,
  };
}
