import { canonicalJson } from "../canonical-json.ts";
import { cleanText, type DecisionEvent } from "../event.ts";
import { EVENT_COLUMNS, type EventRow, eventToRow, rowToCanonicalJson } from "./row.ts";

/** Bytes of UTF-8 that a text may take where the contract names no other bound. */
const LONGEST_TEXT = 2048;

const LONGEST: Partial<Readonly<Record<keyof DecisionEvent, number>>> = {
  user_agent: 512,
  receipt: 16_384,
};

const LIMITS: readonly (readonly [index: number, isJson: boolean, longest: number])[] =
  EVENT_COLUMNS.flatMap(([name, kind], index) =>
    kind === "text" || kind === "json"
      ? [[index, kind === "json", LONGEST[name] ?? LONGEST_TEXT] as const]
      : [],
  );

/**
 * The row with nothing in it that a database or a terminal could choke on: no control characters,
 * no halves of surrogate pairs, no text beyond its bound. Events are made clean (`createEvent`);
 * this is the ledger's own guard, and leaves a clean row as it is.
 */
export function cleanRow(row: EventRow): EventRow {
  let cleaned: (string | number | boolean | null)[] | undefined;
  for (const [index, isJson, longest] of LIMITS) {
    const value = row[index];
    if (typeof value !== "string") continue;
    const fit = isJson ? cleanJson(value) : cleanText(value, longest);
    if (fit === value) continue;
    cleaned ??= [...row];
    cleaned[index] = fit;
  }
  return cleaned ?? row;
}

/** The event as the ledger stores it: itself, unless something in it had to be cleaned. */
export function cleanEvent(event: DecisionEvent): DecisionEvent {
  const row = eventToRow(event);
  const clean = cleanRow(row);
  if (clean === row) return event;
  const stored: DecisionEvent = JSON.parse(rowToCanonicalJson(clean));
  return stored;
}

/** JSON text has most control characters and all surrogate halves as escapes, and few have any. */
function cleanJson(text: string): string {
  if (text.includes("\\")) return canonicalJson(cleanValue(JSON.parse(text)));
  return cleanText(text, Number.MAX_SAFE_INTEGER);
}

function cleanValue(value: unknown): unknown {
  if (typeof value === "string") return cleanText(value, LONGEST_TEXT);
  if (Array.isArray(value)) return value.map(cleanValue);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      cleanText(name, LONGEST_TEXT),
      cleanValue(member),
    ]),
  );
}
