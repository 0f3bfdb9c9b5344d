import type { AddressSource, Bot, BotVerifier } from "../../../../src/core/bot/bot.ts";
import { isPublicAddress, parseAddress } from "../../../../src/core/cidr.ts";
import type { Policy } from "../../../../src/core/policy/policy.ts";
import type { CrawlRequest } from "../../../../src/core/request.ts";
import { policyFrom } from "../../../support/compile.ts";

/** A bot that proves itself in the given ways. */
export function botWith(...verifiers: readonly BotVerifier[]): Bot {
  return {
    id: "examplebot",
    name: "ExampleBot",
    class: "search",
    operator: "",
    match: { userAgents: ["ExampleBot"], exact: [], anchored: [], mustNot: [] },
    verifiers,
    robotsToken: "ExampleBot",
    isDefault: false,
  };
}

/** A verifier by address lists in the usual shape. */
export function ranges(
  sources: readonly (string | AddressSource)[],
  more: Partial<Extract<BotVerifier, { kind: "ip_ranges" }>> = {},
): BotVerifier {
  return {
    kind: "ip_ranges",
    sources: sources.map((source) =>
      typeof source === "string"
        ? { kind: "url", url: source, format: "prefixes", pointer: undefined }
        : source,
    ),
    refreshMs: 3_600_000,
    staleAction: "fail_closed",
    maxStaleMs: 0,
    ...more,
  };
}

/** A policy that knows these bots, and has no rules. */
export function policyWith(...bots: readonly Bot[]): Policy {
  const policy = policyFrom('site: {id: site, host: "*", mode: enforce}');
  return { ...policy, file: "policies/site.yaml", bots };
}

/** A request from an address. */
export function requestFrom(
  ip: string,
  more: { readonly headers?: Readonly<Record<string, string>> } & Partial<CrawlRequest> = {},
): CrawlRequest {
  const address = parseAddress(ip);
  const isPublic = address !== undefined && isPublicAddress(address);
  return {
    method: "GET",
    scheme: "https",
    host: "www.example.com",
    authority: "www.example.com",
    target: { rawPath: "/", query: "", readings: ["/"] },
    userAgent: "ExampleBot/1.0",
    headers: { get: () => undefined, all: () => new Map() },
    ...more,
    address: { ip, limitKey: ip, isPublic },
  };
}
