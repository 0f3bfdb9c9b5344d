import type { RobotsRule } from "./parse.ts";

/**
 * How patterns are read. `rfc9309`: octets are compared in one normal form (sections 2.2.2, 2.2.3).
 * `google`: as its parser does, which decodes nothing, and lets `Allow: …/index.html` allow `…/`.
 */
export type PatternReading = "rfc9309" | "google";

/** What a file says of one path. */
export interface PathVerdict {
  readonly allowed: boolean;
  /** The rule that decided; undefined when none matches. */
  readonly rule: RobotsRule | undefined;
}

/** Judges a path with its query, as a crawler would ask for it: `/a/b?c=d`. */
export type PathMatcher = (target: string) => PathVerdict;

/**
 * Compiles rules, once for many paths. The longest pattern decides, Allow where equals disagree, and
 * what no rule matches is allowed; `/robots.txt` always is (RFC 9309 section 2.2.2).
 */
export function createPathMatcher(
  rules: readonly RobotsRule[],
  reading: PatternReading = "rfc9309",
): PathMatcher {
  const compiled = rules
    .flatMap((rule) => (rule.pattern === "" ? [] : compile(rule, reading)))
    .sort(byPrecedence);
  return (target) => {
    const path = normalizeTarget(target === "" ? "/" : target, reading);
    if (path === ALWAYS_ALLOWED) return { allowed: true, rule: undefined };
    const rule = compiled.find((candidate) => matches(candidate, path))?.rule;
    return { allowed: rule?.kind !== "disallow", rule };
  };
}

/** Whether a pattern holds a path that is in normal form, as `escapePath` writes it. */
export function createPatternTest(pattern: string): (path: string) => boolean {
  const compiled = compilePattern({ kind: "allow", pattern, line: 1 }, pattern, "rfc9309");
  return (path) => path !== ALWAYS_ALLOWED && matches(compiled, path);
}

const ALWAYS_ALLOWED = "/robots.txt";

interface CompiledRule {
  readonly rule: RobotsRule;
  /** Octets of the pattern: the longer one is the more specific. */
  readonly length: number;
  /** The literals between the wildcards: before the first, and after each. */
  readonly head: string;
  readonly parts: readonly string[];
  /** The literal that must stand at the end, after a wildcard. */
  readonly tail: string | undefined;
  readonly isAnchored: boolean;
}

function byPrecedence(left: CompiledRule, right: CompiledRule): number {
  const kind = left.rule.kind === right.rule.kind ? 0 : left.rule.kind === "allow" ? -1 : 1;
  return right.length - left.length || kind;
}

function compile(rule: RobotsRule, reading: PatternReading): readonly CompiledRule[] {
  const compiled = [compilePattern(rule, rule.pattern, reading)];
  const index = rule.pattern.lastIndexOf("/");
  if (
    reading === "google" &&
    rule.kind === "allow" &&
    rule.pattern.startsWith("/index.htm", index)
  ) {
    compiled.push(compilePattern(rule, `${rule.pattern.slice(0, index + 1)}$`, reading));
  }
  return compiled;
}

function compilePattern(rule: RobotsRule, pattern: string, reading: PatternReading): CompiledRule {
  const isAnchored = pattern.endsWith("$");
  const body = isAnchored ? pattern.slice(0, -1) : pattern;
  const [head = "", ...parts] = body.split("*").map((part) => normalizeLiteral(part, reading));
  // What is left are ASCII characters: one octet each.
  const literals = parts.reduce((total, part) => total + part.length, head.length);
  const length = literals + parts.length + (isAnchored ? 1 : 0);
  const tail = isAnchored ? parts.pop() : undefined;
  return { rule, length, head, parts, tail, isAnchored };
}

/** Takes each literal at its first place: later ones then have the most room, so no trial is needed. */
function matches({ head, parts, tail, isAnchored }: CompiledRule, path: string): boolean {
  if (!path.startsWith(head)) return false;
  let position = head.length;
  for (const part of parts) {
    const found = path.indexOf(part, position);
    if (found === -1) return false;
    position = found + part.length;
  }
  if (!isAnchored) return true;
  if (tail === undefined) return position === path.length;
  return path.length - tail.length >= position && path.endsWith(tail);
}

function normalizeTarget(target: string, reading: PatternReading): string {
  // Google is handed a URL that was encoded before, and compares it as it is.
  if (reading === "google") return target;
  // A pattern writes the characters that it uses itself as `%2A` and `%24` (RFC 9309 section 2.2.3).
  return normalizeLiteral(target, reading).replaceAll("*", "%2A");
}

/** Encodes what is not ASCII, writes hex in capitals, and by the RFC decodes unreserved characters. */
function normalizeLiteral(text: string, reading: PatternReading): string {
  const encoded = text.replace(/[^\0-\x7f]+/gu, encodeOctets);
  if (reading === "google") return encoded.replace(/%[0-9a-f]{2}/gi, (hex) => hex.toUpperCase());
  return encoded.replaceAll("$", "%24").replace(/%[0-9a-f]{2}/gi, (hex) => {
    const character = String.fromCharCode(Number.parseInt(hex.slice(1), 16));
    return /[A-Za-z0-9._~-]/.test(character) ? character : hex.toUpperCase();
  });
}

function encodeOctets(text: string): string {
  return Buffer.from(text).toString("hex").toUpperCase().replace(/../g, "%$&");
}
