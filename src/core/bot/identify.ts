import type { Bot } from "./bot.ts";

/** The bot whose token stands in a User-Agent; the default bot when none does. */
export function createIdentifier(
  bots: readonly Bot[],
  defaultBot: Bot,
): (userAgent: string) => Bot {
  return (userAgent) => {
    const text = userAgent.toLowerCase();
    let best = defaultBot;
    let longest = 0;
    for (const bot of bots) {
      for (const token of bot.match.userAgents) {
        if (token.length > longest && text.includes(token.toLowerCase())) {
          best = bot;
          longest = token.length;
        }
      }
    }
    return best;
  };
}
