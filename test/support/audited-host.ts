import type { FetchFault, RobotsFetch } from "../../src/core/audit/fetch.ts";
import { type AuditTarget, EVERYBODY } from "../../src/core/audit/target.ts";

/** A host that must declare a crawl-delay. */
export const target: AuditTarget = {
  scheme: "https",
  host: "www.example.com",
  rateLimitRequired: true,
  allowPrivate: false,
  agents: [EVERYBODY],
};

/** Where its file is. */
export const url = "https://www.example.com/robots.txt";

/** What it answers: 200 with a text, unless a test says otherwise. */
export function response(
  body: string | Uint8Array,
  changes: Partial<Extract<RobotsFetch, { kind: "response" }>> = {},
): RobotsFetch {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  return {
    kind: "response",
    url,
    finalUrl: url,
    redirects: [],
    attempts: 1,
    status: 200,
    contentType: "text/plain",
    body: bytes,
    isCut: false,
    wireBytes: bytes.length,
    ...changes,
  };
}

/** That there was no answer. */
export function failure(fault: FetchFault, status?: number): RobotsFetch {
  return {
    kind: "failure",
    url,
    finalUrl: url,
    redirects: [],
    attempts: 1,
    fault,
    cause: "",
    status,
  };
}
