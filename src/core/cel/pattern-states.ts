import type { RE2JS } from "@bufbuild/re2";

type Engine = ReturnType<RE2JS["re2"]>;
type State = NonNullable<ReturnType<Engine["dfa"]["step"]>>;

/** What the engine calls a search that may start anywhere. */
const UNANCHORED = 0;

/** Instructions from this one on consume a character. */
const FIRST_RUNE_OPERATION = 8;

/**
 * What may hold between two characters, in the engine's bits: the start or the end of a line, and a
 * word boundary or none. Before the first character the text starts as well.
 */
const CONTEXTS: readonly number[] = [0, 0x01, 0x02, 0x03].flatMap((ends) => [
  ends | 0x10,
  ends | 0x20,
]);
const TEXT_START = 0x05;
const START_CONTEXTS: readonly number[] = CONTEXTS.map((context) => context | TEXT_START);

/**
 * Whether a pattern's automaton has more states than `limit`. The engine makes states as texts ask
 * for them: with few, each character of any text takes a bounded time and memory; with many, a
 * client can have it make new ones without end, as with `a.{30}b`.
 */
export function hasMoreStates({ prog, dfa }: Engine, limit: number): boolean {
  const start = dfa.getState([prog.start]);
  if (start === null) return true;
  const runes = differentRunes(prog);
  const known = new Set<State>([start]);
  for (const state of known) {
    for (const context of contextsOf(state, state === start)) {
      const next = runes.map((rune) => dfa.step(state, rune, UNANCHORED, context));
      for (const each of next) known.add(each ?? state);
    }
    if (known.size > limit) return true;
  }
  return false;
}

function contextsOf(state: State, isStart: boolean): readonly number[] {
  if (!state.hasEmptyWidth) return [0];
  return isStart ? [...CONTEXTS, ...START_CONTEXTS] : CONTEXTS;
}

/** One character for each set of characters between which no instruction tells a difference. */
function differentRunes(prog: Engine["prog"]): readonly number[] {
  const consuming = prog.inst.filter(
    ({ op, runes }) => op >= FIRST_RUNE_OPERATION && runes.length > 0,
  );
  const bounds = new Set([0, 0x0a, 0x0b]);
  for (const rune of consuming.flatMap(({ runes }) => runes).flatMap(foldings)) {
    bounds.add(rune).add(rune + 1);
  }
  const bySignature = new Map<string, number>();
  for (const rune of bounds) {
    bySignature.set(consuming.map((inst) => Number(inst.matchRune(rune))).join(""), rune);
  }
  return [...bySignature.values()];
}

function foldings(rune: number): readonly number[] {
  const character = String.fromCodePoint(rune);
  return [character, character.toLowerCase(), character.toUpperCase()].map(
    (text) => text.codePointAt(0) ?? rune,
  );
}
