import { describe, expect, test } from "vitest";
import {
  type AuditOverrides,
  type AuditPlan,
  compileAuditConfig,
  isAuditConfig,
  planPolicies,
} from "../../../src/core/audit/config.ts";
import { EVERYBODY, parseAuditHost } from "../../../src/core/audit/target.ts";
import { formatFault } from "../../../src/core/policy/fault.ts";
import { readDocument } from "../../../src/core/yaml/document.ts";
import { policyFrom } from "../../support/compile.ts";

const asWritten: AuditOverrides = { scheme: undefined, allowPrivate: false, agents: undefined };

function compileText(text: string, overrides = asWritten) {
  const { document } = readDocument("audit.yaml", text);
  if (document === undefined) throw new Error("not YAML");
  return compileAuditConfig(document, overrides);
}

function planOf(text: string, overrides = asWritten): AuditPlan {
  const compiled = compileText(text, overrides);
  if (compiled.kind === "faulty") throw new Error(compiled.errors.map(formatFault).join("\n"));
  return compiled.plan;
}

function faultsIn(text: string): readonly string[] {
  const compiled = compileText(text);
  return compiled.kind === "faulty" ? compiled.errors.map(formatFault) : [];
}

describe("an audit's configuration file", () => {
  test("names hosts, their flag, and the crawlers of each", () => {
    const plan = planOf(`
version: crawlwall.io/audit/v1
user_agents: [bingbot, "*"]
hosts:
  - host: WWW.Example.com.
    rate_limit_required: true
    user_agents: [{name: bingbot, aliases: [msnbot], crawl_delay_fallback: directive}]
  - host: intranet.example.com:8080
    scheme: http
    allow_private: true
`);
    expect(plan.skipped).toEqual([]);
    expect(plan.targets).toEqual([
      {
        scheme: "https",
        host: "www.example.com",
        rateLimitRequired: true,
        allowPrivate: false,
        agents: [{ names: ["bingbot", "msnbot"], fallback: "directive" }],
      },
      {
        scheme: "http",
        host: "intranet.example.com:8080",
        rateLimitRequired: false,
        allowPrivate: true,
        agents: [
          { names: ["bingbot"], fallback: "rfc9309" },
          { names: ["*"], fallback: "rfc9309" },
        ],
      },
    ]);
  });

  test("audits for everybody where no crawler is named", () => {
    const plan = planOf("version: crawlwall.io/audit/v1\nhosts: [{host: a.example}]\n");
    expect(plan.targets[0]?.agents).toEqual([EVERYBODY]);
  });

  test("gives way to the command line", () => {
    const agents: AuditOverrides["agents"] = [{ names: ["claudebot"], fallback: "rfc9309" }];
    const text =
      "version: crawlwall.io/audit/v1\nhosts: [{host: 'a.example:80', user_agents: [x]}]\n";
    expect(planOf(text, { scheme: "http", allowPrivate: true, agents }).targets).toEqual([
      { scheme: "http", host: "a.example", rateLimitRequired: false, allowPrivate: true, agents },
    ]);
  });

  test("passes over hosts that stand for many", () => {
    const plan = planOf(
      "version: crawlwall.io/audit/v1\nhosts: [{host: '*.a.example'}, {host: '*'}]\n",
    );
    expect(plan).toEqual({ targets: [], skipped: ["*.a.example", "*"] });
  });

  test("tells all its faults at once, with their places", () => {
    expect(
      faultsIn(`version: crawlwall.io/audit/v2
user_agent: [a]
hosts:
  - host: https://a.example/
    rate_limit_required: "true"
  - host: b.example
    rate_limit_required: yes
  - host: c.example
    rate_limit_required: 1
    user_agents: [{name: bingbot, crawl_delay_fallback: bing}]
  - rate_limit_required: true
`),
    ).toEqual([
      "audit.yaml:1:10: version: unknown value `crawlwall.io/audit/v2`; did you mean `crawlwall.io/audit/v1`?",
      "audit.yaml:2:1: user_agent: unknown key `user_agent`; did you mean `user_agents`?",
      "audit.yaml:4:11: hosts[0].host: `https://a.example/` is no host; write a name such as `www.example.com`, with a port where it needs one",
      "audit.yaml:5:26: hosts[0].rate_limit_required: `true` is a text; write `true` or `false`",
      "audit.yaml:7:26: hosts[1].rate_limit_required: `yes` is a text; write `true` or `false`",
      "audit.yaml:9:26: hosts[2].rate_limit_required: `1` is a number; write `true` or `false`",
      "audit.yaml:10:57: hosts[2].user_agents[0].crawl_delay_fallback: unknown value `bing`; write one of `rfc9309`, `directive`",
      "audit.yaml:11:5: hosts[3].host: required key is missing",
    ]);
  });

  test("names a host once", () => {
    expect(
      faultsIn(
        "version: crawlwall.io/audit/v1\nhosts:\n  - host: a.example\n  - host: A.example:443\n",
      ),
    ).toEqual([
      "audit.yaml:4:11: hosts[1].host: `a.example` is the host of `hosts[0]` too; remove one",
    ]);
  });

  test.each([
    [{ version: "crawlwall.io/audit/v1" }, true],
    [{ version: "crawlwall.io/audit/v9" }, true],
    [{ hosts: [] }, true],
    [{ version: "crawlwall.io/v1", site: {} }, false],
    [{ site: {}, hosts: [] }, false],
    [{}, false],
    [null, false],
    ["text", false],
  ])("is told from a policy: %j", (value, expected) => {
    expect(isAuditConfig(value)).toBe(expected);
  });
});

describe("policies as an audit's configuration", () => {
  test("each exact host is audited by its site's flag", () => {
    const policy = policyFrom(
      "site: {id: a, hosts: [a.example, '*.b.example', c.example], rate_limit_required: true}\n",
    );
    const plan = planPolicies([policy], asWritten);
    expect(plan.skipped).toEqual(["*.b.example"]);
    expect(plan.targets.map(({ host, rateLimitRequired }) => [host, rateLimitRequired])).toEqual([
      ["a.example", true],
      ["c.example", true],
    ]);
  });
});

describe("a host", () => {
  test.each([
    ["Example.COM.", "example.com"],
    ["example.com:443", "example.com"],
    ["example.com.:8443", "example.com:8443"],
    ["bücher.example", "xn--bcher-kva.example"],
    ["127.1", "127.0.0.1"],
    ["[::1]:8080", "[::1]:8080"],
    ["", undefined],
    ["a b", undefined],
    ["a.example/robots.txt", undefined],
    ["a.example?b", undefined],
    ["a.example#b", undefined],
    ["user@a.example", undefined],
    ["a\\b", undefined],
    ["a.example:99999", undefined],
    ["*.a.example", undefined],
    ["%61.example", undefined],
  ])("`%s` is %s", (text, host) => {
    expect(parseAuditHost(text, "https")).toBe(host);
  });
});
