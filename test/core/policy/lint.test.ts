import { describe, expect, test } from "vitest";
import { type LintFinding, lintPolicy } from "../../../src/core/policy/lint.ts";
import { policyFrom } from "../../support/compile.ts";

const BOTS = `
site: {id: docs, host: docs.example.com, mode: enforce}
bots:
  - {id: searchbot, name: S, class: search, match: {user_agents: [SearchBot]}, verify: {type: reverse_dns, allowed_suffixes: [.example.com]}}
  - {id: trainbot, name: T, class: ai_training, match: {user_agents: [TrainBot]}, verify: {type: static_ranges, cidrs: [203.0.113.0/24]}}
  - {id: oddbot, name: O, class: seo, match: {user_agents: [OddBot]}, verify: {type: none}}
`;

/** A policy with three bots, and these rules, in this order. */
function lint(rules: readonly string[], more = ""): readonly LintFinding[] {
  const written = rules.map((rule, index) => `  - {priority: ${index}, ${rule}}`);
  return lintPolicy(policyFrom(`${BOTS}${more}\nrules:\n${written.join("\n")}\n`));
}

function codesOf(rules: readonly string[], more?: string): readonly string[] {
  return lint(rules, more).map(({ code }) => code);
}

const BLOCK = "action: {type: block, status: 403, reason: no}";
const LIMIT = (key: string) =>
  `action: {type: rate_limit, limit: {key: ${key}, rpm: 10, burst: 10}}`;
const SET = "sets: {areas: [/archive, /data]}";

describe("each finding has a policy that shows it, and one near it that does not", () => {
  test.each<[string, readonly string[], readonly string[], string?]>([
    [
      "dead_rule",
      [`id: a, when: 'bot.class == "ai_traning"', ${BLOCK}`],
      [`id: a, when: 'bot.class == "ai_training"', ${BLOCK}`],
    ],
    [
      "dead_rule",
      [`id: a, when: 'bot.verified && bot.id == "oddbot"', ${BLOCK}`],
      [`id: a, when: 'bot.verified && bot.id == "trainbot"', ${BLOCK}`],
    ],
    [
      "covered_rule",
      [`id: a, when: "bot.claimed", action: allow`, `id: b, when: 'bot.id == "oddbot"', ${BLOCK}`],
      [`id: a, when: "bot.verified", action: allow`, `id: b, when: 'bot.id == "oddbot"', ${BLOCK}`],
    ],
    [
      "covered_rule",
      [
        `id: a, when: 'request.path.startsWith("/a")', action: allow`,
        `id: b, when: 'request.path.startsWith("/a/b") && request.method == "POST"', ${BLOCK}`,
      ],
      [
        `id: a, when: 'request.path.startsWith("/a/b")', action: allow`,
        `id: b, when: 'request.path.startsWith("/a") && request.method == "POST"', ${BLOCK}`,
      ],
    ],
    [
      "covered_rule",
      [
        `id: a, when: "sets.areas.exists(p, pathUnder(request.path, p))", action: allow`,
        `id: b, when: 'pathUnder(request.path, "/data") || request.path == "/archive/x"', ${BLOCK}`,
      ],
      [
        `id: a, when: "sets.areas.exists(p, pathUnder(request.path, p))", action: allow, mode: shadow`,
        `id: b, when: 'pathUnder(request.path, "/data") || request.path == "/archive/x"', ${BLOCK}`,
      ],
      SET,
    ],
    [
      "client_chosen_limit_key",
      [`id: a, when: "bot.verified", ${LIMIT("request.headers.x-a")}`],
      [`id: a, when: "bot.verified", ${LIMIT("request.ip")}`],
    ],
    [
      "client_chosen_limit_key",
      [`id: a, when: "bot.verified", ${LIMIT("request.user_agent")}`],
      [`id: a, when: "bot.verified", ${LIMIT("request.host")}`],
    ],
    [
      "unverified_limit_key",
      [`id: a, when: 'bot.class == "ai_training"', ${LIMIT("bot.id")}`],
      [`id: a, when: 'bot.verified && bot.class == "ai_training"', ${LIMIT("bot.id")}`],
    ],
    [
      "search_crawler_refused",
      [`id: a, when: "bot.claimed", ${BLOCK}`],
      [`id: a, when: 'bot.claimed && bot.class != "search"', ${BLOCK}`],
    ],
    [
      "search_crawler_refused",
      [`id: a, when: "true", ${BLOCK}`],
      [`id: a, when: 'pathUnder(request.path, "/admin")', ${BLOCK}`],
    ],
    [
      "unverifiable_bot_blocked",
      [`id: a, when: "bot.claimed && !bot.verified", ${BLOCK}`],
      [`id: a, when: "bot.claimed && bot.verifiable && !bot.verified", ${BLOCK}`],
    ],
    [
      "refuted_only",
      [`id: a, when: 'bot.verification == "refuted"', ${BLOCK}`],
      [
        `id: a, when: 'bot.verification == "refuted"', ${BLOCK}`,
        `id: b, when: 'bot.verification == "unavailable"', ${BLOCK}`,
      ],
    ],
    [
      "impossible_path",
      [`id: a, when: 'request.path.startsWith("archive")', action: allow`],
      [`id: a, when: 'request.path.startsWith("/archive")', action: allow`],
    ],
    [
      "impossible_path",
      [`id: a, when: 'request.path in ["/a", "b"]', action: allow`],
      [`id: a, when: 'request.query in ["/a", "b"]', action: allow`],
    ],
    [
      "may_fault",
      [`id: a, when: 'int(header("x-depth")) > 3', action: allow`],
      [
        `id: a, when: 'header("x-depth").matches("^[0-9]{1,9}$") && int(header("x-depth")) > 3', action: allow`,
      ],
    ],
    [
      "may_fault",
      [`id: a, when: 'request.path.split("/")[1] == "a"', action: allow`],
      [
        `id: a, when: 'request.path.split("/").size() > 1 && request.path.split("/")[1] == "a"', action: allow`,
      ],
    ],
    [
      "not_specialised",
      [`id: a, when: '{request.method: 1} == {"GET": 1}', action: allow`],
      [`id: a, when: 'request.method in {"GET": 1}', action: allow`],
    ],
    [
      "unused_set",
      [`id: a, when: "true", action: allow`],
      [`id: a, when: "labels.path in sets.areas", action: allow`],
      SET,
    ],
  ])("%s", (code, shows, near, more) => {
    expect(codesOf(shows, more)).toContain(code);
    expect(codesOf(near, more)).not.toContain(code);
  });

  test("unreachable_bot", () => {
    const more = (token: string) => `
  - {id: late, name: L, class: seo, match: {user_agents: [${token}]}, verify: {type: none}}`;
    const allow = [`id: a, when: "true", action: allow`];
    expect(lint(allow, more("oddbot"))).toContainEqual({
      code: "unreachable_bot",
      subject: { kind: "bot", botId: "late" },
      message:
        "is never identified: its tokens are taken for `oddbot`; change `match` or remove the bot",
    });
    expect(codesOf(allow, more("LateBot"))).toEqual([]);
  });
});

describe("a finding names what it is about, and the remedy", () => {
  test("a covered rule names the rule before it", () => {
    const [found] = lint([
      `id: everyone, when: "true", action: allow`,
      `id: late, when: "bot.claimed", ${BLOCK}`,
    ]);
    expect(found).toEqual({
      code: "covered_rule",
      subject: { kind: "rule", ruleId: "late", part: "when" },
      message:
        "never decides, since `everyone` decides whenever this would; give it a lower priority or remove it",
    });
  });

  test("a block that hits unverifiable bots names them", () => {
    const found = lint([`id: a, when: "bot.claimed && !bot.verified", ${BLOCK}`]);
    expect(found.map(({ message }) => message)).toEqual([
      "blocks `oddbot`, which nobody can verify, the genuine ones too; add `bot.verifiable &&`, or give the bot a `verify`",
    ]);
  });
});

test("a thousand rules about paths and hundreds of bots are linted in seconds", () => {
  const rules = Array.from(
    { length: 1000 },
    (_, index) => `id: r${index}, when: 'request.path.startsWith("/area${index}/")', action: allow`,
  );
  const bots = Array.from(
    { length: 300 },
    (_, index) =>
      `  - {id: b${index}, name: B, class: seo, match: {user_agents: [Made${index}Bot]}, verify: {type: none}}`,
  );
  const start = performance.now();
  expect(codesOf(rules, bots.join("\n"))).toEqual([]);
  expect(performance.now() - start).toBeLessThan(20_000);
});
