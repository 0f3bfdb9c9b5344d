/** Why a Crawl-delay value is none. */
export type DelayFault =
  | "empty"
  | "zero"
  | "negative"
  | "sign"
  | "comma_decimal"
  | "unit_suffix"
  | "exponent"
  | "hex"
  | "separator"
  | "non_finite"
  | "non_ascii_digit"
  | "non_ascii"
  | "control_char"
  | "too_large"
  | "non_numeric";

/** A Crawl-delay value, read. */
export type DelayValue =
  | { readonly kind: "seconds"; readonly seconds: number }
  | { readonly kind: "invalid"; readonly fault: DelayFault };

const DECIMAL = /^(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)$/;

// In order: the first that fits names the fault. None of them backtracks.
const FAULT_SHAPES: readonly (readonly [RegExp, DelayFault])[] = [
  [/^$/, "empty"],
  // Tab, vertical tab and form feed are white space here.
  [/[^\P{Cc}\t\v\f]/u, "control_char"],
  [/[^\p{ASCII}\p{N}]/u, "non_ascii"],
  [/[^\p{ASCII}]/u, "non_ascii_digit"],
  [/^[+-]?(?:inf|infinity|nan)$/i, "non_finite"],
  [/^[+-]?0x[0-9a-f]+$/i, "hex"],
  [/^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)e[+-]?[0-9]+$/i, "exponent"],
  [/^-(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)$/, "negative"],
  [/^\+(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)$/, "sign"],
  [/^[+-]?[0-9]*,[0-9]+$/, "comma_decimal"],
  [/^[+-]?[0-9]+(?:[_,' ][0-9]+)+(?:\.[0-9]*)?$/, "separator"],
  [/^[+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)[ \t]*[a-z]+\.?$/i, "unit_suffix"],
];

/**
 * Reads a Crawl-delay value that was trimmed: an unsigned decimal in ASCII digits, above zero and at
 * most 2^53 - 1, in seconds. Crawlers read everything else each in its own way, so it is no value.
 */
export function parseDelayValue(raw: string): DelayValue {
  if (!DECIMAL.test(raw)) return { kind: "invalid", fault: faultOf(raw) };
  const seconds = Number(raw);
  if (seconds > Number.MAX_SAFE_INTEGER) return { kind: "invalid", fault: "too_large" };
  if (seconds === 0) return { kind: "invalid", fault: "zero" };
  return { kind: "seconds", seconds };
}

/** Whether crawlers that know whole seconds only drop a valid value. */
export function isFractional(raw: string): boolean {
  return raw.includes(".");
}

function faultOf(raw: string): DelayFault {
  return FAULT_SHAPES.find(([shape]) => shape.test(raw))?.[1] ?? "non_numeric";
}
