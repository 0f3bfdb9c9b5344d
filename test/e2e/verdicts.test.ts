import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseEcho } from "../support/echo-upstream.ts";
import { open } from "../support/raw-client.ts";
import { waitFor } from "../support/wait.ts";
import { field, setUps, startWall, type Wall, type WallRequest } from "../support/wall.ts";
import { hosts, policies } from "./policies.ts";

describe.each(setUps)("$name", ({ options }) => {
  let wall: Wall;
  beforeAll(async () => {
    wall = await startWall({ ...options, policies, hosts });
  });
  afterAll(() => wall.stop());

  it("serves a person the page, and tells the application the verdict", async () => {
    const answer = await wall.send("/welcome?from=here");
    expect(answer.status).toBe(200);
    const { url, headers } = parseEcho(answer.body);
    const event = await wall.eventOf(answer);
    expect(url).toBe("/welcome?from=here");
    expect(headers).toMatchObject({
      "x-crawlwall-decision": "allow",
      "x-crawlwall-rule": "runtime.default_action",
      "x-crawlwall-bot": "unknown",
      "x-crawlwall-verification": "unverifiable",
      "x-crawlwall-event": event.id,
      "x-crawlwall-receipt": "none",
    });
    expect(event).toMatchObject({
      site_id: "site",
      path: "/welcome",
      query: "from=here",
      ip: "127.0.0.1",
      action: "allow",
      status: 200,
      would_block: false,
    });
  });

  it("refuses a spoofed GPTBot with a reason that names the event", async () => {
    const reached = wall.backend.requests();
    const answer = await wall.send("/welcome", { userAgent: "GPTBot/1.1" });
    const event = await wall.eventOf(answer);
    expect(answer.status).toBe(403);
    expect(field(answer, "content-type")).toBe("application/problem+json");
    expect(field(answer, "cache-control")).toBe("no-store");
    expect(field(answer, "x-content-type-options")).toBe("nosniff");
    expect(JSON.parse(answer.body)).toMatchObject({
      status: 403,
      detail: "spoofed_bot",
      instance: `urn:uuid:${event.id}`,
    });
    expect(event).toMatchObject({
      bot_id: "gptbot",
      claimed: true,
      verified: false,
      verification: "unverifiable",
      action: "block",
      rule_id: "block_spoofed",
      reason: "spoofed_bot",
      status: 403,
      enforced: true,
    });
    expect(wall.backend.requests()).toBe(reached);
  });

  it("lets a crawler pass from inside its ranges, and only from there", async () => {
    const userAgent = "demobot/1.0 (+https://site.test/bot)";
    const inside = await wall.send("/welcome", { userAgent, from: "127.0.0.2" });
    const outside = await wall.send("/welcome", { userAgent, from: "127.0.0.4" });
    expect(inside.status).toBe(200);
    expect(await wall.eventOf(inside)).toMatchObject({
      bot_id: "demobot",
      ip: "127.0.0.2",
      verified: true,
      verification: "verified",
    });
    expect(outside.status).toBe(403);
    expect(await wall.eventOf(outside)).toMatchObject({ rule_id: "block_spoofed" });
  });

  it("refuses an unknown client on a protected path alone", async () => {
    const refused = await wall.send("/archive/2024/a");
    expect(refused.status).toBe(403);
    expect(await wall.eventOf(refused)).toMatchObject({
      rule_id: "block_unknown_protected_paths",
      reason: "unknown_crawler_protected_path",
    });
    expect((await wall.send("/article")).status).toBe(200);
  });

  it.each<[string, string, WallRequest, string]>([
    ["a spoofed crawler", "/welcome", { userAgent: "GPTBot/1.1" }, "block_spoofed"],
    ["an unknown client on a protected path", "/archive", {}, "block_unknown_protected_paths"],
    ["a malformed path", "/a%00b", {}, "runtime.malformed_request"],
    ["early data", "/welcome", { lines: ["Early-Data: 1"] }, "runtime.early_data"],
  ])("serves %s in shadow and notes what it would have done", async (_, target, request, rule) => {
    const answer = await wall.send(target, { ...request, host: "shadow.test" });
    expect(answer.status).toBe(200);
    expect(parseEcho(answer.body).headers["x-crawlwall-decision"]).toBe("would_block");
    expect(await wall.eventOf(answer)).toMatchObject({
      site_id: "shadow",
      rule_id: rule,
      status: 200,
      enforced: false,
      would_block: true,
    });
  });

  it("answers HEAD with the headers alone, allowed and refused", async () => {
    const allowed = await wall.send("/welcome", { method: "HEAD" });
    const refused = await wall.send("/archive", { method: "HEAD" });
    expect([allowed.status, allowed.body]).toEqual([200, ""]);
    expect([refused.status, refused.body]).toEqual([403, ""]);
    expect(await wall.eventOf(refused)).toMatchObject({ method: "HEAD" });
  });

  it("hands a body on to the application, and none of it to the sidecar", async () => {
    const body = "name=value&".repeat(5_000);
    const answer = await wall.send("/form", { method: "POST", body });
    const echo = parseEcho(answer.body);
    expect(answer.status).toBe(200);
    expect(echo.method).toBe("POST");
    expect(echo.body).toBe(body);
    expect(await wall.eventOf(answer)).toMatchObject({ method: "POST" });
  });

  it("hands a chunked body that waits for 100-continue on, and continues once", async () => {
    const socket = open(wall.caddy.port);
    let received = "";
    socket.setEncoding("latin1").on("data", (text: string) => {
      received += text;
    });
    const lines = ["POST /form HTTP/1.1", "Host: site.test", "Transfer-Encoding: chunked"];
    socket.write(`${[...lines, "Expect: 100-continue", "Connection: close"].join("\r\n")}\r\n\r\n`);
    await waitFor("the interim answer", () => received.includes("100 Continue") || undefined);
    socket.write("5\r\nhello\r\n0\r\n\r\n");
    await waitFor("the end of the answer", () => socket.destroyed || undefined);
    expect(received.match(/100 Continue/g)).toHaveLength(1);
    expect(received).toContain("HTTP/1.1 200 OK");
    expect(received).toContain('"body":"hello"');
  });

  it.each(["OPTIONS", "PROPFIND", "FOOBAR", "get"])("judges %s like any method", async (method) => {
    const allowed = await wall.send("/welcome", { method });
    const refused = await wall.send("/secret", { method });
    // What the application makes of an unknown method is its own affair.
    expect(await wall.eventOf(allowed)).toMatchObject({ method, action: "allow", status: 200 });
    expect(refused.status).toBe(403);
    expect(await wall.eventOf(refused)).toMatchObject({ method });
  });

  it("opens a WebSocket after an allow, and not after a refusal", async () => {
    const allowed = await upgrade(wall, "/socket", "websocket");
    const refused = await upgrade(wall, "/secret/socket", "websocket");
    expect(allowed).toContain("HTTP/1.1 101 Switching Protocols");
    expect(allowed).toContain("ping through the tunnel");
    expect(refused).toContain("HTTP/1.1 403");
  });

  it("never opens a tunnel of another protocol", async () => {
    const text = await upgrade(wall, "/socket", "h2c");
    expect(text).toContain("HTTP/1.1 200");
    expect(text).not.toContain("ping through the tunnel");
  });

  it("opens a WebSocket and nothing else where the client asks for two protocols", async () => {
    const lines = [
      "User-Agent: browser",
      "Upgrade: h2c",
      "Connection: X-Crawlwall-Decision, User-Agent",
    ];
    const text = await upgrade(wall, "/socket", "websocket", lines);
    expect(text).toContain("Upgrade: websocket");
    expect(text).not.toContain("h2c");
    expect(wall.backend.lastUpgrade()).toMatchObject({
      upgrade: "websocket",
      "user-agent": "browser",
      "x-crawlwall-decision": "allow",
    });
  });

  it("stays up when clients leave in the middle", async () => {
    for (let count = 0; count < 50; count += 1) {
      const socket = open(wall.caddy.port);
      socket.on("error", () => undefined);
      socket.write(`GET /page/${count} HTTP/1.1\r\nHost: site.test\r\n\r\n`);
      await once(socket, "connect");
      socket.destroy();
    }
    expect((await wall.send("/welcome")).status).toBe(200);
  });

  it("gives the answer its own request id, and leaves the application's alone", async () => {
    const answer = await wall.send("/welcome", { lines: ["X-Request-Id: of-the-client"] });
    expect(field(answer, "crawlwall-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    expect(field(answer, "x-request-id")).toBe("of-the-application");
  });

  it("hands /robots.txt on to the site while serving is off, for refused crawlers too", async () => {
    const answer = await wall.send("/robots.txt", { userAgent: "GPTBot/1.1" });
    expect(answer.status).toBe(200);
    expect(parseEcho(answer.body).url).toBe("/robots.txt");
    expect(await wall.eventOf(answer)).toMatchObject({ rule_id: "runtime.robots_txt" });
  });

  it.each([
    "/robots.txt?q=1",
    "/ROBOTS.TXT",
    "/robots%2etxt",
    "//robots.txt",
    "/secret/../robots.txt",
    "/robots.txt.",
    "/robots.txt%20",
  ])("judges %s like any path", async (target) => {
    const answer = await wall.send(target, { userAgent: "GPTBot/1.1" });
    expect(answer.status).toBe(403);
    expect(await wall.eventOf(answer)).toMatchObject({ rule_id: "block_spoofed" });
  });

  it("serves nothing for a host that no site names", async () => {
    const reached = wall.backend.requests();
    await expect(wall.send("/welcome", { host: "other.test" })).rejects.toThrow("no answer");
    await expect(wall.send("/welcome", { host: "site.test." })).rejects.toThrow("no answer");
    await expect(wall.send("http://other.test/welcome", { host: "site.test" })).rejects.toThrow(
      "no answer",
    );
    expect(wall.backend.requests()).toBe(reached);
  });
});

async function upgrade(
  wall: Wall,
  target: string,
  protocol: string,
  more: readonly string[] = [],
): Promise<string> {
  const socket = open(wall.caddy.port);
  let text = "";
  socket.setEncoding("latin1").on("data", (more: string) => {
    text += more;
    if (text.includes("\r\n\r\n") && !text.includes("ping"))
      socket.write("ping through the tunnel");
    if (text.includes("ping through the tunnel") || !text.includes(" 101 ")) socket.end();
  });
  const lines = [
    `GET ${target} HTTP/1.1`,
    "Host: site.test",
    ...more,
    "Connection: Upgrade",
    `Upgrade: ${protocol}`,
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  ];
  socket.on("error", () => undefined);
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  await waitFor("the end of the connection", () => socket.destroyed || undefined);
  return text;
}
