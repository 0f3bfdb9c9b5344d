import {
  type DelayAgent,
  type DelayOutcome,
  type DelayResolution,
  resolveCrawlDelay,
} from "../robots/crawl-delay.ts";
import { charsetOf, decodeRobots } from "../robots/decode.ts";
import { parseRobots, type RobotsFile } from "../robots/parse.ts";
import type { RobotsFetch } from "./fetch.ts";
import type { AuditError, AuditWarning, StatusFault } from "./record.ts";

/** A robots.txt that an operator has on disk, judged as if it had been served. */
export interface RobotsOnDisk {
  readonly kind: "file";
  readonly body: Uint8Array;
}

/** What was found at a host: a file that robots directives can be read from, or the error instead. */
export type AuditedDocument =
  | {
      readonly kind: "robots";
      readonly file: RobotsFile;
      readonly isTruncated: boolean;
      readonly warnings: readonly AuditWarning[];
    }
  | {
      readonly kind: "none";
      readonly error: AuditError;
      readonly warnings: readonly AuditWarning[];
    };

/** What a document says to one crawler. */
export interface AgentVerdict {
  readonly resolution: DelayResolution | undefined;
  readonly error: AuditError | undefined;
  /** In alphabetical order, each once; none repeats the error. */
  readonly warnings: readonly AuditWarning[];
}

/** Tells a robots.txt from everything else that a server may answer with. */
export function readDocument(source: RobotsFetch | RobotsOnDisk): AuditedDocument {
  if (source.kind === "failure") {
    return none({ class: "fetch", code: "FETCH_FAILED", detail: source.fault }, []);
  }
  if (source.kind === "file") return readBody(source.body, undefined, false, []);
  const moved: readonly AuditWarning[] =
    hostOf(source.url) === hostOf(source.finalUrl) ? [] : ["REDIRECTED_HOST"];
  const fault = statusFault(source.status);
  if (fault !== undefined) {
    return none({ class: "fetch", code: "HTTP_ERROR", detail: fault }, moved);
  }
  const document = readBody(source.body, charsetOf(source.contentType), source.isCut, moved);
  return document.kind === "none" || isPlainText(source.contentType)
    ? document
    : { ...document, warnings: [...document.warnings, "WRONG_CONTENT_TYPE"] };
}

/** Judges a document for one crawler. */
export function judgeAgent(document: AuditedDocument, agent: DelayAgent): AgentVerdict {
  if (document.kind === "none") {
    return { resolution: undefined, error: document.error, warnings: document.warnings };
  }
  const resolution = resolveCrawlDelay(document.file, agent);
  const error = outcomeError(resolution.outcome) ?? documentError(document, resolution.outcome);
  const warnings = new Set<AuditWarning>([...document.warnings, ...resolution.warnings]);
  if (document.isTruncated && error?.code !== "TRUNCATED") warnings.add("TRUNCATED");
  return { resolution, error, warnings: [...warnings].sort() };
}

function none(error: AuditError, warnings: readonly AuditWarning[]): AuditedDocument {
  return { kind: "none", error, warnings };
}

function readBody(
  body: Uint8Array,
  charset: string | undefined,
  isCut: boolean,
  warnings: readonly AuditWarning[],
): AuditedDocument {
  const decoded = decodeRobots(body, charset, isCut);
  switch (decoded.kind) {
    case "html":
    case "binary":
      return none({ class: "fetch", code: "NOT_ROBOTS_TXT", detail: decoded.kind }, warnings);
    case "text":
      return {
        kind: "robots",
        file: parseRobots(decoded.text),
        isTruncated: decoded.isTruncated,
        warnings: decoded.isUtf16 ? [...warnings, "NOT_UTF8"] : warnings,
      };
  }
}

/** RFC 9309 section 2.3.1, with 429 apart, and with what is neither success nor a plain refusal. */
function statusFault(status: number): StatusFault | undefined {
  if (status >= 200 && status <= 299 && status !== 206) return undefined;
  if (status >= 300 && status <= 399 && status !== 304) return "redirect_invalid";
  if (status === 429) return "rate_limited";
  if (status >= 400 && status <= 499) return "unavailable";
  if (status >= 500 && status <= 599) return "unreachable";
  return "unexpected_status";
}

function hostOf(url: string): string {
  return new URL(url).host;
}

/** No Content-Type at all is no complaint: the body decides. */
function isPlainText(contentType: string | undefined): boolean {
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase();
  return type === undefined || type === "text/plain";
}

function outcomeError(outcome: DelayOutcome): AuditError | undefined {
  switch (outcome.kind) {
    case "invalid":
      return { class: "value", code: "INVALID_VALUE", detail: outcome.fault };
    case "malformed":
      return { class: "value", code: "MALFORMED_DIRECTIVE", detail: outcome.token.flaw };
    case "orphan":
      return { class: "value", code: "OUTSIDE_GROUP", detail: null };
    case "valid":
    case "missing":
      return undefined;
  }
}

/** Why nothing was found, where the file itself is the reason. */
function documentError(
  document: Extract<AuditedDocument, { kind: "robots" }>,
  outcome: DelayOutcome,
): AuditError | undefined {
  if (outcome.kind !== "missing") return undefined;
  if (document.isTruncated) return { class: "parser", code: "TRUNCATED", detail: "size_limit" };
  if (document.file.hasText && !document.file.hasDirectives) {
    return { class: "parser", code: "UNPARSEABLE", detail: "no_directives" };
  }
  return undefined;
}
