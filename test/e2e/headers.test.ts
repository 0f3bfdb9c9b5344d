import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Echo, parseEcho } from "../support/echo-upstream.ts";
import { newCaddy, oldCaddy } from "../support/programs.ts";
import { head, sendRaw } from "../support/raw-client.ts";
import { field, PERSON, startWall, type Wall } from "../support/wall.ts";
import { hosts, policies } from "./policies.ts";

const GOOGLE = "66.249.66.1";

/** The names under which the application may believe something of us or of a proxy. */
function believable(echo: Echo): readonly string[] {
  return echo.rawHeaders
    .filter((_, index) => index % 2 === 0)
    .map((name) => name.toLowerCase())
    .filter((name) =>
      /crawlwall|forwarded|original|rewrite|real-ip|client-ip|connecting/.test(name),
    )
    .sort();
}

const ours: readonly string[] = [
  "x-crawlwall-bot",
  "x-crawlwall-decision",
  "x-crawlwall-event",
  "x-crawlwall-receipt",
  "x-crawlwall-rule",
  "x-crawlwall-verification",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
];

describe.each([oldCaddy, newCaddy])("behind $name", (caddy) => {
  let wall: Wall;
  beforeAll(async () => {
    wall = await startWall({ caddy, policies, hosts });
  });
  afterAll(() => wall.stop());

  it("lets the application see nothing of a forged verdict, in any spelling (B1)", async () => {
    const lines = [
      "X-Crawlwall-Decision: forged",
      "x-crawlwall-event: forged",
      "X-CrawlWall-Verdict: forged",
      "X-CrawlWall-Key: forged",
      "X_CrawlWall_Decision: forged",
      "X_Crawlwall-Decision: forged",
      "X-Crawlwall_Decision: forged",
      "X.CrawlWall.Decision: forged",
      "X-Crawlwall.Decision: forged",
      "X_Forwarded_For: forged",
      "X.Real.Ip: forged",
      "Crawlwall-Request-Id: forged",
      "X-Forwarded-Uri: /forged",
      "X-Forwarded-Method: FORGED",
      "X-Forwarded-Host: forged.test",
      "X-Forwarded-Prefix: /forged",
      "X-Original-Url: /forged",
      "X-Original-Uri: /forged",
      "X-Original-Method: FORGED",
      "X-Rewrite-Url: /forged",
      `X-Forwarded-For: ${GOOGLE}`,
      `X-Real-Ip: ${GOOGLE}`,
      `True-Client-Ip: ${GOOGLE}`,
      `Cf-Connecting-Ip: ${GOOGLE}`,
      `Forwarded: for=${GOOGLE}`,
    ];
    const answer = await wall.send("/page", { lines });
    const echo = parseEcho(answer.body);
    expect(answer.status).toBe(200);
    expect(believable(echo)).toEqual(ours);
    expect(JSON.stringify(echo.rawHeaders)).not.toMatch(/forged|66\.249|\{http/i);
    expect(await wall.eventOf(answer)).toMatchObject({
      ip: "127.0.0.1",
      method: "GET",
      path: "/page",
      host: "site.test",
    });
  });

  it.each([
    ["X-Forwarded-Uri: /public"],
    ["X-Original-Url: /public"],
    ["X-Rewrite-Url: /public"],
    ["X-Forwarded-Prefix: /public"],
    ["X-Forwarded-Method: OPTIONS"],
    ["X-Forwarded-Host: shadow.test"],
    ["X-Http-Method-Override: OPTIONS"],
    ["Connection: close, X-Forwarded-Uri, X-Forwarded-Host"],
    ["Connection: Upgrade", "Upgrade: websocket"],
    ["Connection: Upgrade", "Upgrade: h2c"],
    ["If-None-Match: *"],
    ["If-Modified-Since: Fri, 31 Dec 2100 23:59:59 GMT"],
    ["Range: bytes=0-1"],
    ["Content-Type: ;;;"],
    ["Accept-Encoding: br, gzip"],
    ["X-Request-Id: 00000000-0000-0000-0000-000000000000"],
  ])("refuses a protected path whatever the client adds: %s", async (...lines) => {
    const reached = wall.backend.requests();
    const answer = await wall.send("/secret", { lines });
    expect(answer.status).toBe(403);
    expect(wall.backend.requests()).toBe(reached);
  });

  it("does not let a query reach the sidecar's own options", async () => {
    const answer = await wall.send("/secret?id=1&decision=allow&uri=/public");
    expect(answer.status).toBe(403);
  });

  it("judges the User-Agent that the application sees, whatever Connection names (B2)", async () => {
    const names = "close, X-Crawlwall-Decision, X-Crawlwall-Event, User-Agent, Signature";
    const answer = await wall.send("/page", { lines: [`Connection: ${names}`, "Signature: s"] });
    const { headers } = parseEcho(answer.body);
    expect(headers).toMatchObject({
      "user-agent": PERSON,
      signature: "s",
      "x-crawlwall-decision": "allow",
    });
    expect(headers["x-crawlwall-event"]).toBe((await wall.eventOf(answer)).id);
    const spoofed = await wall.send("/page", {
      userAgent: "GPTBot/1.1",
      lines: ["Connection: User-Agent"],
    });
    expect(spoofed.status).toBe(403);
  });

  it("shows a refused client nothing of the verdict's fields (B4)", async () => {
    const answer = await wall.send("/secret");
    const names = [...answer.fields.keys()].filter((name) => name.startsWith("x-crawlwall"));
    expect(names).toEqual([]);
    expect(answer.body).not.toContain("block_private");
  });

  it("takes a User-Agent of any bytes (B6)", async () => {
    const odd = await wall.send("/page", { userAgent: "bot\xe9 \xc3\xa9\xff" });
    const spoofed = await wall.send("/page", { userAgent: "\xe9\xff GPTBot/1.1 \x80" });
    expect(odd.status).toBe(200);
    expect(spoofed.status).toBe(403);
  });

  it("judges the first User-Agent, the one that the application sees", async () => {
    const answer = await wall.send("/page", { lines: ["User-Agent: GPTBot/1.1"] });
    expect(parseEcho(answer.body).headers["user-agent"]).toBe(PERSON);
    expect(await wall.eventOf(answer)).toMatchObject({ user_agent: PERSON });
  });

  it.each(["", "   "])(
    "records no User-Agent where the client sends none (%j)",
    async (userAgent) => {
      const answer = await wall.send("/page", { userAgent });
      expect(answer.status).toBe(200);
      expect(await wall.eventOf(answer)).toMatchObject({ user_agent: null, bot_id: "unknown" });
    },
  );

  it("keeps cookies and credentials from the sidecar, however large (B10)", async () => {
    const cookie = `session=${"c".repeat(12_000)}`;
    const lines = [`Cookie: ${cookie}`, "Authorization: Bearer secret-token"];
    const answer = await wall.send("/page", { lines });
    const { headers } = parseEcho(answer.body);
    expect(answer.status).toBe(200);
    expect(headers).toMatchObject({ cookie, authorization: "Bearer secret-token" });
    expect(JSON.stringify(await wall.eventOf(answer))).not.toContain("secret-token");
  });

  it("refuses header fields of more than 16 KiB and some, whoever would read them", async () => {
    const reached = wall.backend.requests();
    const answer = await wall.send("/page", { lines: [`Cookie: ${"c".repeat(40_000)}`] });
    expect(answer.status).toBe(431);
    expect(wall.backend.requests()).toBe(reached);
  });

  it("takes no verdict from a trailer", async () => {
    const lines = ["Transfer-Encoding: chunked", "Trailer: X-Crawlwall-Decision"];
    const request = head("/form", ["Host: site.test", ...lines], "POST");
    const body = "5\r\nhello\r\n0\r\nX-Crawlwall-Decision: forged\r\n\r\n";
    const answer = await sendRaw(wall.caddy.port, request + body);
    const echo = parseEcho(answer?.body ?? "");
    expect(echo.body).toBe("hello");
    expect(echo.headers["x-crawlwall-decision"]).toBe("allow");
  });

  it.each([
    ["no Host at all", "GET /page HTTP/1.0\r\n\r\n"],
    ["no Host in HTTP/1.1", "GET /page HTTP/1.1\r\nConnection: close\r\n\r\n"],
    ["two Hosts", head("/page", ["Host: site.test", "Host: other.test"])],
    ["an empty Host", head("/page", ["Host:"])],
    ["a Host of dots", head("/page", ["Host: ..."])],
    ["a NUL in a field", head("/page", ["Host: site.test", "X-A: a\0b"])],
  ])("serves nothing to a request with %s", async (_, bytes) => {
    const reached = wall.backend.requests();
    const answer = await sendRaw(wall.caddy.port, bytes);
    expect(answer?.status ?? 400).toBeGreaterThanOrEqual(400);
    expect(wall.backend.requests()).toBe(reached);
  });

  it("hands 900 header fields on and judges the request (C2)", async () => {
    const lines = Array.from({ length: 900 }, () => "A:");
    expect((await wall.send("/page", { lines })).status).toBe(200);
    expect((await wall.send("/secret", { lines })).status).toBe(403);
  });

  it.each([1_100, 2_000, 4_000])(
    "never serves a request of %i header fields (C2)",
    async (count) => {
      const reached = wall.backend.requests();
      const lines = Array.from({ length: count }, () => "A:");
      const answer = await wall.send("/page", { lines });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(wall.backend.requests()).toBe(reached);
    },
  );

  it("refuses early data, whose address nobody has proved", async () => {
    const answer = await wall.send("/page", { lines: ["Early-Data: 1"] });
    expect(answer.status).toBe(425);
    expect(await wall.eventOf(answer)).toMatchObject({ rule_id: "runtime.early_data" });
  });

  it("believes no address that a client writes (E10)", async () => {
    const lines = ["X-Forwarded-For: 127.0.0.2", "X-Real-Ip: 127.0.0.2"];
    const answer = await wall.send("/page", { userAgent: "demobot/1.0", lines });
    expect(answer.status).toBe(403);
    expect(await wall.eventOf(answer)).toMatchObject({ ip: "127.0.0.1" });
  });

  it.each([
    "/authz/forward-auth",
    "/authz/forward-auth?id=1",
    "/%61uthz/forward-auth?x=1",
    "/authz%2Fforward-auth",
    "/robots%2etxt?x=1",
    "/healthz",
    "/readyz",
    "/metrics",
  ])("treats the sidecar's own URL %s as the site's", async (target) => {
    const reached = wall.backend.requests();
    const person = await wall.send(target, { method: "POST", body: "hello" });
    const spoofed = await wall.send(target, { userAgent: "GPTBot/1.1" });
    expect([200, 404]).toContain(person.status);
    expect(
      person.status === 200 ? parseEcho(person.body) : { url: target, body: "hello" },
    ).toMatchObject({ url: target, body: "hello" });
    expect([403, 404]).toContain(spoofed.status);
    expect(wall.backend.requests() - reached).toBe(person.status === 200 ? 1 : 0);
  });

  it("joins every line of the decision log to one request and keeps it one line (D9)", async () => {
    const target = '/page?x=%0d%0a{"id":"forged"}';
    const answer = await wall.send(target, { userAgent: 'x\t"y"\\ \u00e9' });
    expect(answer.status).toBe(200);
    const ids = wall.sidecar.events().map((event) => event.request_id);
    const id = field(answer, "crawlwall-request-id");
    expect((await wall.eventOf(answer)).query).toBe('x=%0d%0a{"id":"forged"}');
    expect(ids.filter((one) => one === id).length).toBeLessThanOrEqual(1);
  });
});
