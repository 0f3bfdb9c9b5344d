import fc from "fast-check";
import { expect, test } from "vitest";
import { type Automaton, automatonSteps } from "../../../src/core/bot/automaton.ts";
import { finish } from "../../../src/core/steps.ts";

interface Word {
  readonly text: string;
}

function search(automaton: Automaton<Word>, text: string): readonly string[] {
  const hits: string[] = [];
  let state = 0;
  for (let index = 0; index < text.length; index++) {
    const column = automaton.columns[text.charCodeAt(index)] ?? 0;
    state = automaton.next[state * automaton.width + column] ?? 0;
    for (const word of automaton.found[state] ?? []) hits.push(`${word.text} before ${index + 1}`);
  }
  return hits;
}

function searchNaively(words: readonly Word[], text: string): readonly string[] {
  const hits: string[] = [];
  for (let end = 1; end <= text.length; end++) {
    for (const word of words.toSorted((left, right) => right.text.length - left.text.length)) {
      if (text.slice(0, end).toLowerCase().endsWith(word.text)) {
        hits.push(`${word.text} before ${end}`);
      }
    }
  }
  return hits;
}

test("every word is found wherever it ends, in any ASCII case, as a naive search finds it", () => {
  const letters = fc.string({
    unit: fc.constantFrom("a", "b", "c", "-"),
    minLength: 1,
    maxLength: 5,
  });
  const words = fc.array(fc.record({ text: letters }), { maxLength: 12 });
  const text = fc.string({ unit: fc.constantFrom("a", "b", "C", "A", "-", "\xe9"), maxLength: 40 });
  fc.assert(
    fc.property(words, text, (some, haystack) => {
      expect(search(finish(automatonSteps(some)), haystack)).toEqual(searchNaively(some, haystack));
    }),
    { numRuns: 500 },
  );
});

test("words with more letters than a small table can number are found too", () => {
  const words = Array.from({ length: 5000 }, (_, index) => ({ text: `word-number-${index}-ends` }));
  expect(search(finish(automatonSteps(words)), "x word-number-4711-ends x")).toEqual([
    "word-number-4711-ends before 23",
  ]);
});

test("no words, no hits", () => {
  expect(search(finish(automatonSteps([])), "anything")).toEqual([]);
});
