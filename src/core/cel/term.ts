import type { CelValue } from "@bufbuild/cel";
import type { AddressSet } from "../cidr.ts";
import type { CrawlRequest } from "../request.ts";
import type { BotInputs } from "./reference.ts";

/** A field of `bot`: known as soon as the bot and the outcome of its verification are. */
export type BotField =
  | "id"
  | "name"
  | "class"
  | "operator"
  | "claimed"
  | "verified"
  | "verification"
  | "verifiable";

/** A value that only the request has: texts, and of `bot` the list that its address decides. */
export type RequestField =
  | "by_ip"
  | "host"
  | "method"
  | "path"
  | "raw_path"
  | "query"
  | "scheme"
  | "ip"
  | "user_agent";

/**
 * A condition, or a part of one, made ready to be folded: names resolved, macros read back, chains
 * of `&&` and `||` flattened. Terms are shared, never changed.
 */
export type Term =
  | ValueTerm
  | FailureTerm
  | (Common & { readonly kind: "bot"; readonly field: BotField })
  | InputTerm
  | (Common & { readonly kind: "headers" })
  | (Common & { readonly kind: "variable"; readonly slot: number })
  /** `&&` and `||` of any number of terms, in the order of the text. */
  | (Common & { readonly kind: "every" | "some"; readonly terms: readonly Term[] })
  | (Common & {
      readonly kind: "choice";
      readonly condition: Term;
      readonly yes: Term;
      readonly no: Term;
    })
  | CallTerm
  /** `operand[key]`, and `operand.key` of a map. */
  | (Common & { readonly kind: "lookup" | "has"; readonly operand: Term; readonly key: Term })
  | (Common & { readonly kind: "list"; readonly elements: readonly Term[] })
  | LoopTerm
  | TextTerm
  | (Common & { readonly kind: "address"; readonly text: Term; readonly blocks: AddressSet })
  | ForeignTerm;

interface Common {
  /** What must be known before the value is: bits of {@link NEEDS_BOT} and so on. */
  readonly needs: number;
  /** Whether evaluation can end in an error. */
  readonly mayFail: boolean;
}

export interface ValueTerm extends Common {
  readonly kind: "value";
  readonly value: CelValue;
}

export interface FailureTerm extends Common {
  readonly kind: "failure";
  readonly failure: Failure;
}

export interface InputTerm extends Common {
  readonly kind: "input";
  readonly field: RequestField;
}

/** A function or operator that evaluates its arguments first; a method's object is the first. */
export interface CallTerm extends Common {
  readonly kind: "call";
  readonly name: string;
  readonly isMethod: boolean;
  readonly args: readonly Term[];
}

/** A macro. `map` with a test is `filter`, or a `map` with a condition. */
export interface LoopTerm extends Common {
  readonly kind: "loop";
  readonly macro: "exists" | "all" | "exists_one" | "map";
  readonly range: Term;
  readonly slot: number;
  readonly test: Term | undefined;
  readonly step: Term | undefined;
}

/** Whether a text is one of `exact`, or starts with one of `prefixes`: many tests in one look-up. */
export interface TextTerm extends Common {
  readonly kind: "text";
  readonly text: Term;
  readonly exact: readonly string[];
  readonly prefixes: readonly string[];
}

/** A part that is left to the reference evaluator. */
export interface ForeignTerm extends Common {
  readonly kind: "foreign";
  readonly run: (
    bot: BotInputs,
    request: CrawlRequest,
    path: string,
    variables: Readonly<Record<string, CelValue>>,
  ) => CelValue | Failure;
  /** Variables of the macros around it. */
  readonly variables: readonly (readonly [name: string, slot: number])[];
  /** The fields of `bot`, once known. */
  readonly bot: BotInputs | undefined;
  /** Why it is left to the reference evaluator. */
  readonly reason: string;
}

/** An error of evaluation, as a value. */
export class Failure {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

/** The fields of the bot must be known. */
export const NEEDS_BOT = 1;
/** The request must be known. */
export const NEEDS_REQUEST = 2;
/** Most macros within one another; each has a bit of its own in `needs`. */
export const MAX_MACRO_DEPTH = 16;

/** The bit of a macro's variable. */
export function slotBit(slot: number): number {
  return 4 << slot;
}

/** The one term that is true. */
export const TRUE: ValueTerm = { kind: "value", value: true, needs: 0, mayFail: false };
/** The one term that is false. */
export const FALSE: ValueTerm = { kind: "value", value: false, needs: 0, mayFail: false };

/** A constant. */
export function valueTerm(value: CelValue): ValueTerm {
  if (value === true) return TRUE;
  return value === false ? FALSE : { kind: "value", value, needs: 0, mayFail: false };
}

/** A part that always ends in an error. */
export function failureTerm(failure: Failure): FailureTerm {
  return { kind: "failure", failure, needs: 0, mayFail: true };
}

/** All that a group of terms needs. */
export function needsOf(terms: readonly Term[]): number {
  let needs = 0;
  for (const term of terms) needs |= term.needs;
  return needs;
}
