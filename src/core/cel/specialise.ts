import type { BotInputs } from "./reference.ts";
import { substitute } from "./substitute.ts";
import { NEEDS_BOT, type Term, valueTerm } from "./term.ts";

/** A term with the fields of `bot` folded in; what does not read them is the same term. */
export function specialise(term: Term, bot: BotInputs): Term {
  return substitute(term, { needs: NEEDS_BOT, replace: (leaf) => known(leaf, bot) });
}

function known(leaf: Term, bot: BotInputs): Term | undefined {
  if (leaf.kind === "bot") return valueTerm(bot.get(leaf.field) ?? "");
  return leaf.kind === "foreign" ? { ...leaf, bot, needs: leaf.needs & ~NEEDS_BOT } : undefined;
}
