import { innerTerms } from "./foreign.ts";
import type { BotInputs } from "./reference.ts";
import { specialise } from "./specialise.ts";
import { type BotField, NEEDS_BOT, type Term } from "./term.ts";

/** What is left of a condition for a bot; the same term for bots that the condition treats alike. */
export type Residuals = (condition: Term, bot: BotInputs) => Term;

/** Fields of which every bot has a value of its own. */
const DISTINGUISHING: ReadonlySet<BotField> = new Set(["id", "name", "operator"]);
const ALL_FIELDS: readonly BotField[] = [
  ...(["id", "name", "class", "operator"] as const),
  ...(["claimed", "verified", "verification", "verifiable"] as const),
];

interface Memory {
  readonly fields: readonly BotField[];
  /** By the values of the fields. */
  readonly residuals: Map<string, Term>;
  readonly keepsConstants: boolean;
}

/** Makes a memory of residuals, so that hundreds of bots share terms and closures. */
export function createResiduals(): Residuals {
  const memories = new WeakMap<Term, Memory>();
  return (condition, bot) => {
    if ((condition.needs & NEEDS_BOT) === 0) return condition;
    let memory = memories.get(condition);
    if (memory === undefined) {
      memory = createMemory(condition);
      memories.set(condition, memory);
    }
    return memory.keepsConstants ? recall(memory, condition, bot) : intern(memory, condition, bot);
  };
}

function recall(memory: Memory, condition: Term, bot: BotInputs): Term {
  const key = keyOf(memory, bot);
  const known = memory.residuals.get(key);
  if (known !== undefined) return known;
  const residual = specialise(condition, bot);
  memory.residuals.set(key, residual);
  return residual;
}

/** Constants are one term anyway, and soon found. */
function intern(memory: Memory, condition: Term, bot: BotInputs): Term {
  const residual = specialise(condition, bot);
  if (residual.kind === "value") return residual;
  const key = keyOf(memory, bot);
  const known = memory.residuals.get(key);
  if (known !== undefined) return known;
  memory.residuals.set(key, residual);
  return residual;
}

function keyOf(memory: Memory, bot: BotInputs): string {
  let key = "";
  for (const field of memory.fields) key += `${bot.get(field)}\n`;
  return key;
}

function createMemory(condition: Term): Memory {
  const read = new Set(fieldsOf(condition));
  const fields = ALL_FIELDS.filter((field) => read.has(field));
  // A thousand rules that name a bot each are false for hundreds of others: not worth the room.
  const keepsConstants = !fields.some((field) => DISTINGUISHING.has(field));
  return { fields, residuals: new Map(), keepsConstants };
}

function fieldsOf(term: Term): readonly BotField[] {
  if (term.kind === "bot") return [term.field];
  if (term.kind === "foreign") return ALL_FIELDS;
  return innerTerms(term).flatMap(fieldsOf);
}
