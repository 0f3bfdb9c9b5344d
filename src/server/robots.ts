import type { IncomingMessage } from "node:http";
import type { AddressSet } from "../core/cidr.ts";
import type { Policy } from "../core/policy/policy.ts";
import type { GeneratedRobots } from "../core/robots/generate.ts";
import type { Gate } from "../gate.ts";
import type { Authz } from "./authz.ts";
import { type Forwarded, readRequestId } from "./forwarded.ts";
import { createReplays } from "./replay.ts";
import { problem, type Reply } from "./reply.ts";
import { normaliseHost, subjectOf } from "./visitor.ts";

/** What `/robots.txt` needs. */
export interface RobotsOptions {
  readonly gate: Gate;
  readonly findSite: (host: string) => Policy | undefined;
  /** The file of a host; undefined where its site hands the request on to its own file. */
  readonly fileFor: (policy: Policy, host: string) => GeneratedRobots | undefined;
  readonly trustedProxies: AddressSet | undefined;
  readonly trustRequestId: boolean;
  readonly nowMs: () => number;
}

/** How long a file may be kept: a changed policy should soon be known. */
const CACHE_CONTROL = "public, max-age=300";

/**
 * Makes the route. Where a file is served it is served to everybody, and each fetch is recorded with
 * the version that was read. 404 tells the proxy to hand the request through the check to the site's
 * own file.
 */
export function createRobotsAnswer(options: RobotsOptions): Authz {
  const replays = createReplays();
  return (message, startedMs) => {
    const forwarded = readVisit(message, options.trustRequestId);
    const host = normaliseHost(forwarded.host);
    const policy = options.findSite(host);
    const file = policy === undefined ? undefined : options.fileFor(policy, host);
    if (policy === undefined || file === undefined) {
      return problem(404, "robots_not_served", message.method === "HEAD");
    }
    const answer = (): Reply => {
      const subject = subjectOf(forwarded, host, options.trustedProxies);
      const { requestId } = forwarded;
      options.gate.admit({ policy, subject, requestId, startedMs }, "runtime.robots_txt", {
        robots_sha256: file.sha256,
      });
      return fileReply(file, message.method === "HEAD");
    };
    if (forwarded.requestId === undefined) return answer();
    const place = replays.placeOf(forwarded, options.nowMs());
    const earlier = replays.find(place);
    if (earlier !== undefined) return earlier;
    const reply = answer();
    replays.keep(place, reply);
    return reply;
  };
}

/** The proxy rewrites the path and says the rest as it always does; some do not say the host. */
function readVisit(message: IncomingMessage, trustRequestId: boolean): Forwarded {
  const { headers } = message;
  return {
    method: message.method ?? "GET",
    uri: "/robots.txt",
    host: one(headers["x-forwarded-host"]) || (headers.host ?? ""),
    scheme: headers["x-forwarded-proto"] === "https" ? "https" : "http",
    forwardedFor: one(headers["x-forwarded-for"]),
    userAgent: headers["user-agent"] ?? "",
    requestId: readRequestId(one(headers["x-request-id"]), trustRequestId),
    isEarlyData: false,
  };
}

function one(value: string | readonly string[] | undefined): string {
  return typeof value === "string" ? value : "";
}

function fileReply({ body, sha256 }: GeneratedRobots, isHead: boolean): Reply {
  return {
    status: 200,
    headers: [
      "Content-Type",
      "text/plain; charset=utf-8",
      "Cache-Control",
      CACHE_CONTROL,
      "ETag",
      `"${sha256.slice(0, 32)}"`,
      "Content-Length",
      String(Buffer.byteLength(body)),
    ],
    body: isHead ? "" : body,
  };
}
