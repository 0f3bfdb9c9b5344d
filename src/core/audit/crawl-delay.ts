import { createHash } from "node:crypto";
import type { RobotsFetch } from "./fetch.ts";
import { type AgentVerdict, judgeAgent, type RobotsOnDisk, readDocument } from "./judge.ts";
import type { CrawlDelayRecord } from "./record.ts";
import type { AuditTarget } from "./target.ts";

const LONGEST_TOKEN = 256;
const LONGEST_URL = 2048;

/** Judges what a host answered, once for each of the target's agents. Any bytes give a record. */
export function auditHost(
  target: AuditTarget,
  source: RobotsFetch | RobotsOnDisk,
  checkedAtMs: number,
): readonly CrawlDelayRecord[] {
  const document = readDocument(source);
  const { robots_status_code, ...transport } = transportColumns(source);
  const checkedAt = new Date(checkedAtMs).toISOString();
  return target.agents.map((agent) => {
    const verdict = judgeAgent(document, agent);
    const delay = delayColumns(verdict);
    return {
      host: target.host,
      rate_limit_required: target.rateLimitRequired,
      robots_status_code,
      has_robots_file: document.kind === "robots",
      ...delay,
      crawl_delay_violation: target.rateLimitRequired && !delay.has_valid_crawl_delay,
      parser_error_code: verdict.error?.code ?? null,
      checked_at: checkedAt,
      scheme: target.scheme,
      audited_agent: storedText(agent.names[0], LONGEST_TOKEN),
      ...transport,
      error_class: verdict.error?.class ?? null,
      error_detail: verdict.error?.detail ?? null,
      line: decisiveLine(verdict),
      warnings: verdict.warnings,
    };
  });
}

/** The hash by which a body is kept, or undefined where there is none. */
export function bodyHash(source: RobotsFetch | RobotsOnDisk): string | undefined {
  if (source.kind === "failure") return undefined;
  return createHash("sha256").update(source.body).digest("hex");
}

/** A text that any store and any terminal can take: no control characters, a bounded length. */
export function storedText(text: string, longest: number): string {
  const safe = text
    .slice(0, longest + 1)
    .replace(
      /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}]/gu,
      (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
    );
  if (safe.length <= longest) return safe;
  // A character beyond U+FFFF is two units: none is left half.
  return `${safe.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

type DelayColumns = Pick<
  CrawlDelayRecord,
  "effective_user_agent" | "crawl_delay_raw" | "crawl_delay_seconds" | "has_valid_crawl_delay"
>;

function delayColumns({ resolution }: AgentVerdict): DelayColumns {
  const outcome = resolution?.outcome;
  const agent = resolution?.effectiveAgent;
  const raw = outcome === undefined || outcome.kind === "missing" ? undefined : outcome.token.raw;
  return {
    effective_user_agent: agent === undefined ? null : storedText(agent, LONGEST_TOKEN),
    crawl_delay_raw: raw === undefined ? null : storedText(raw, LONGEST_TOKEN),
    crawl_delay_seconds: outcome?.kind === "valid" ? outcome.seconds : null,
    has_valid_crawl_delay: outcome?.kind === "valid",
  };
}

function decisiveLine({ resolution }: AgentVerdict): number | null {
  const outcome = resolution?.outcome;
  return outcome === undefined || outcome.kind === "missing" ? null : outcome.token.line;
}

type TransportColumns = Pick<
  CrawlDelayRecord,
  | "robots_status_code"
  | "content_type"
  | "response_size"
  | "response_bytes"
  | "body_sha256"
  | "final_url"
  | "redirects"
  | "attempts"
>;

function transportColumns(source: RobotsFetch | RobotsOnDisk): TransportColumns {
  const response = source.kind === "response" ? source : undefined;
  const contentType = response?.contentType;
  const exchange =
    source.kind === "file"
      ? { final_url: null, redirects: [], attempts: 0 }
      : {
          final_url: storedText(source.finalUrl, LONGEST_URL),
          redirects: source.redirects.map((url) => storedText(url, LONGEST_URL)),
          attempts: source.attempts,
        };
  return {
    robots_status_code: source.kind === "file" ? null : (source.status ?? null),
    content_type: contentType === undefined ? null : storedText(contentType, LONGEST_TOKEN),
    response_size: source.kind === "failure" ? null : source.body.length,
    response_bytes: response?.wireBytes ?? null,
    body_sha256: bodyHash(source) ?? null,
    ...exchange,
  };
}
