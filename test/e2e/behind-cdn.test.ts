import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseEcho } from "../support/echo-upstream.ts";
import { portOf } from "../support/free-port.ts";
import { newCaddy, oldCaddy } from "../support/programs.ts";
import { startWall, type Wall, type WallRequest } from "../support/wall.ts";
import { hosts } from "./policies.ts";

/** In the shape in which OpenAI publishes GPTBot's addresses. */
const document = JSON.stringify({
  creationTime: "2026-11-01T00:00:00.000000",
  prefixes: [{ ipv4Prefix: "20.125.66.80/28" }, { ipv4Prefix: "172.182.204.0/24" }],
});

function policiesWith(listUrl: string): Readonly<Record<string, string>> {
  const text = `
site: {id: site, host: site.test, mode: enforce}
bots:
  - id: gptbot
    name: GPTBot
    class: ai_training
    operator: OpenAI
    match: {user_agents: [GPTBot]}
    verify: {type: ip_ranges, sources: ["${listUrl}"], refresh: 1h}
rules:
  - id: block_spoofed
    priority: 10
    when: bot.claimed && !bot.verified
    action: {type: block, status: 403, reason: spoofed_bot}
`;
  return {
    "site.yaml": text,
    "shadow.yaml": text.replaceAll("site", "shadow").replace("shadow:", "site:"),
  };
}

const gptbot = (forwardedFor: string, ...lines: readonly string[]): WallRequest => ({
  userAgent: "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.1)",
  lines: [`X-Forwarded-For: ${forwardedFor}`, "X-Forwarded-Proto: https", ...lines],
});

describe("GPTBot, by the address list of its operator", () => {
  let list: Server;
  let policies: Readonly<Record<string, string>>;
  beforeAll(async () => {
    list = createServer((_, response) => {
      response.setHeader("Content-Type", "application/json");
      response.end(document);
    });
    list.listen(0, "127.0.0.1");
    await once(list, "listening");
    policies = policiesWith(`http://127.0.0.1:${portOf(list)}/gptbot.json`);
  });
  afterAll(() => list.close());

  describe(`${newCaddy.name} behind a CDN`, () => {
    let wall: Wall;
    beforeAll(async () => {
      wall = await startWall({
        caddy: newCaddy,
        policies,
        hosts,
        file: "examples/behind-cdn/Caddyfile",
        env: { CRAWLWALL_CDN: "127.0.0.1/32" },
        flags: ["--insecure-sources", "--trusted-proxies", "127.0.0.1/32"],
      });
    });
    afterAll(() => wall.stop());

    it("passes from inside its ranges", async () => {
      const answer = await wall.send("/page", gptbot("20.125.66.81"));
      expect(answer.status).toBe(200);
      expect(await wall.eventOf(answer)).toMatchObject({
        bot_id: "gptbot",
        ip: "20.125.66.81",
        verified: true,
        verification: "verified",
      });
    });

    it("is refused from outside, with the address that it came from", async () => {
      const answer = await wall.send("/page", gptbot("203.0.113.9"));
      expect(answer.status).toBe(403);
      expect(await wall.eventOf(answer)).toMatchObject({
        ip: "203.0.113.9",
        verification: "refuted",
      });
    });

    it.each([
      ["20.125.66.81, 203.0.113.9", "203.0.113.9"],
      ["20.125.66.81, [2001:db8::9]:443", "2001:db8::9"],
      ["20.125.66.81, unknown", null],
      ["20.125.66.81, ", null],
    ])("believes no hop that the client wrote: %s", async (chain, ip) => {
      const answer = await wall.send("/page", gptbot(chain));
      expect(answer.status).toBe(403);
      expect(await wall.eventOf(answer)).toMatchObject({ ip });
    });

    it("lets the client choose neither the site nor the path", async () => {
      const lines = ["X-Forwarded-Host: shadow.test", "X-Forwarded-Uri: /other"];
      const answer = await wall.send("/page", gptbot("203.0.113.9", ...lines));
      expect(answer.status).toBe(403);
      expect(await wall.eventOf(answer)).toMatchObject({ host: "site.test", path: "/page" });
    });

    it("hands the CDN's chain on to the application, and no forged verdict", async () => {
      const lines = ["X-Crawlwall-Decision: forged", "X_Crawlwall_Decision: forged"];
      const answer = await wall.send("/page", gptbot("20.125.66.81", ...lines));
      const { headers } = parseEcho(answer.body);
      expect(headers).toMatchObject({
        "x-forwarded-for": "20.125.66.81, 127.0.0.1",
        "x-forwarded-proto": "https",
        "x-crawlwall-decision": "allow",
        "x-crawlwall-bot": "gptbot",
        "x-crawlwall-verification": "verified",
      });
      expect(answer.body).not.toContain("forged");
    });

    it("serves nobody who does not come through the CDN", async () => {
      const request = { ...gptbot("20.125.66.81"), from: "127.0.0.2" };
      await expect(wall.send("/page", request)).rejects.toThrow("no answer");
    });
  });

  describe.each([oldCaddy, newCaddy])("$name at the edge", (caddy) => {
    let wall: Wall;
    beforeAll(async () => {
      wall = await startWall({ caddy, policies, hosts, flags: ["--insecure-sources"] });
    });
    afterAll(() => wall.stop());

    it("stays a spoofer with the same X-Forwarded-For", async () => {
      const answer = await wall.send("/page", gptbot("20.125.66.81"));
      expect(answer.status).toBe(403);
      expect(await wall.eventOf(answer)).toMatchObject({
        ip: "127.0.0.1",
        verification: "unverifiable",
      });
    });
  });
});
