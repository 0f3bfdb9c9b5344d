/** Host names of the sites below. */
export const hosts: readonly string[] = ["site.test", "shadow.test", "caseless.test"];

const bots = `
bots:
  - id: demobot
    name: Demo crawler
    class: search
    match: {user_agents: [demobot]}
    verify: {type: static_ranges, cidrs: [127.0.0.2/32]}
  - id: slowbot
    name: Slow crawler
    class: ai_training
    match: {user_agents: [slowbot]}
    verify: {type: static_ranges, cidrs: [127.0.0.3/32]}
  - id: gptbot
    name: GPTBot
    class: ai_training
    operator: OpenAI
    match: {user_agents: [GPTBot]}
    verify: {type: static_ranges, cidrs: [20.125.66.80/28]}
  - id: unknown
    name: Everybody else
    class: unknown
    match: {default: true}
    verify: {type: none}
`;

const rules = `
sets:
  protected_paths: ["/archive", "/datasets"]
rules:
  - id: block_spoofed
    priority: 10
    when: bot.claimed && bot.verifiable && !bot.verified
    action: {type: block, status: 403, reason: spoofed_bot}
  - id: block_private
    priority: 20
    when: >-
      ["/secret", "/private", "/admin", "/etc", "/x", "/b", "/a/b", "/café"].exists(p, pathUnder(request.path, p))
    action: {type: block, status: 403, reason: private_path}
  - id: allow_public
    priority: 30
    when: pathUnder(request.path, "/public")
    action: {type: allow}
  - id: limit_slowbot
    priority: 40
    when: bot.id == "slowbot"
    action: {type: rate_limit, limit: {key: bot.id, rpm: 10}}
  - id: block_unknown_protected_paths
    priority: 900
    when: bot.class == "unknown" && sets.protected_paths.exists(p, request.path.startsWith(p))
    action: {type: block, status: 403, reason: unknown_crawler_protected_path}
`;

/** Three sites under the same rules: one enforces, one is in shadow, one has no letter case in paths. */
export const policies: Readonly<Record<string, string>> = {
  "site.yaml": `site: {id: site, host: site.test, mode: enforce}\n${bots}${rules}`,
  "shadow.yaml": `site: {id: shadow, host: shadow.test, mode: shadow}\n${bots}${rules}`,
  "caseless.yaml": `site: {id: caseless, host: caseless.test, mode: enforce, case_insensitive_paths: true}\n${bots}${rules}`,
};

/** A site that serves its robots.txt, and is closed to one crawler. */
export const closedToGptbot = `site: { id: site, host: site.test, mode: enforce }
robots: { serve: true }
bots:
  - { id: gptbot, class: ai_training, match: { user_agents: [GPTBot] }, verify: none }
rules:
  - { id: everything, priority: 1, when: bot.claimed, action: { type: block, reason: no } }
`;
