import { parseRobotsLine, type RobotsLine, type SpellingWarning } from "./line.ts";

/** One User-agent line. */
export interface RobotsAgent {
  /** As written, trimmed; empty when the line names nobody. */
  readonly value: string;
  /** From 1. */
  readonly line: number;
}

/** One Allow or Disallow line. An empty pattern rules nothing, yet it ends a run of User-agent lines. */
export interface RobotsRule {
  readonly kind: "allow" | "disallow";
  readonly pattern: string;
  readonly line: number;
}

/** User-agent lines and the rules that follow them (RFC 9309 section 2.1). */
export interface RobotsGroup {
  readonly agents: readonly RobotsAgent[];
  readonly rules: readonly RobotsRule[];
}

/** A Crawl-delay value as written. */
export interface DelayToken {
  readonly raw: string;
  readonly line: number;
}

/** A line that was meant as Crawl-delay, after so many of its scope's agents. */
export interface DelayNearMiss extends DelayToken {
  readonly flaw: "misspelled" | "missing_colon";
  readonly agentCount: number;
}

/** The User-agent lines that share Crawl-delay lines: those since the last delay or rule. */
export interface DelayScope {
  readonly agents: readonly RobotsAgent[];
  readonly tokens: readonly DelayToken[];
  readonly nearMisses: readonly DelayNearMiss[];
}

/** Codes of what a file gets away with. */
export type FileWarning = SpellingWarning | "EMPTY_USER_AGENT" | "NOT_UTF8";

/** A robots.txt file as its lines say it, in the order of the file. */
export interface RobotsFile {
  readonly groups: readonly RobotsGroup[];
  readonly scopes: readonly DelayScope[];
  /** Crawl-delay lines before any User-agent line: they bind nobody. */
  readonly orphans: readonly DelayToken[];
  /** What was noticed, with the first line of each kind. */
  readonly warnings: ReadonlyMap<FileWarning, number>;
  /** Whether there is anything but comments and blank lines. */
  readonly hasText: boolean;
  /** Whether any line is a directive of robots.txt. */
  readonly hasDirectives: boolean;
}

// Google's buffer is 8 × 2083 bytes and ends with a NUL.
const LONGEST_LINE_BYTES = 8 * 2083 - 1;

/**
 * Reads robots.txt by RFC 9309, grouped as the reference parser does. Takes any text, never throws,
 * and its time grows with the length of the text alone.
 */
export function parseRobots(text: string): RobotsFile {
  const reading: Reading = {
    groups: [],
    scopes: [],
    orphans: [],
    warnings: new Map(),
    hasText: false,
    hasDirectives: false,
  };
  let number = 0;
  for (const line of text.split(/\r\n|\n|\r/)) {
    number++;
    addLine(reading, parseRobotsLine(cutLine(line)), number);
  }
  return reading;
}

function cutLine(line: string): string {
  if (line.length * 3 <= LONGEST_LINE_BYTES) return line;
  const bytes = Buffer.from(line);
  if (bytes.length <= LONGEST_LINE_BYTES) return line;
  // Streaming leaves out the character that the cut went through.
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(
    bytes.subarray(0, LONGEST_LINE_BYTES),
    { stream: true },
  );
}

interface OpenScope {
  readonly agents: RobotsAgent[];
  readonly tokens: DelayToken[];
  readonly nearMisses: DelayNearMiss[];
}

interface OpenGroup {
  readonly agents: RobotsAgent[];
  readonly rules: RobotsRule[];
}

/** The file as far as it was read. */
interface Reading {
  readonly groups: OpenGroup[];
  readonly scopes: OpenScope[];
  readonly orphans: DelayToken[];
  readonly warnings: Map<FileWarning, number>;
  hasText: boolean;
  hasDirectives: boolean;
}

function addLine(reading: Reading, line: RobotsLine, number: number): void {
  reading.hasText ||= line.kind !== "blank";
  reading.hasDirectives ||= line.kind !== "blank" && line.kind !== "unknown";
  for (const code of warningsOf(line)) {
    if (!reading.warnings.has(code)) reading.warnings.set(code, number);
  }
  switch (line.kind) {
    case "user_agent":
      addAgent(reading, { value: line.value, line: number });
      return;
    case "allow":
    case "disallow":
      reading.groups.at(-1)?.rules.push({ kind: line.kind, pattern: line.value, line: number });
      return;
    case "crawl_delay":
      (reading.scopes.at(-1)?.tokens ?? reading.orphans).push({ raw: line.value, line: number });
      return;
    case "near_miss":
      addNearMiss(reading.scopes.at(-1), { raw: line.value, line: number, flaw: line.flaw });
      return;
    case "blank":
    case "other":
    case "unknown":
      return;
  }
}

function addAgent(reading: Reading, agent: RobotsAgent): void {
  const group = reading.groups.at(-1);
  const scope = reading.scopes.at(-1);
  // Only Allow and Disallow end a run of User-agent lines (RFC 9309 sections 2.1 and 2.2.4) ...
  const isRunOpen = group !== undefined && group.rules.length === 0;
  if (isRunOpen) group.agents.push(agent);
  else reading.groups.push({ agents: [agent], rules: [] });
  // ... while a Crawl-delay is for the User-agent lines above it, not for those that follow.
  if (isRunOpen && scope?.tokens.length === 0) scope.agents.push(agent);
  else reading.scopes.push({ agents: [agent], tokens: [], nearMisses: [] });
}

function addNearMiss(
  scope: OpenScope | undefined,
  miss: DelayToken & Pick<DelayNearMiss, "flaw">,
): void {
  scope?.nearMisses.push({ ...miss, agentCount: scope.agents.length });
}

function* warningsOf(line: RobotsLine): Generator<FileWarning> {
  if ("warning" in line && line.warning !== undefined) yield line.warning;
  if (line.kind === "near_miss") yield line.flaw === "misspelled" ? "TYPO_KEY" : "MISSING_COLON";
  if (line.kind === "user_agent" && line.value === "") yield "EMPTY_USER_AGENT";
  if ("value" in line && line.value.includes("\uFFFD")) yield "NOT_UTF8";
}
