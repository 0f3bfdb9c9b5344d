import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { head, type RawAnswer, sendRaw } from "../support/raw-client.ts";
import { type Sidecar, startSidecar } from "../support/sidecar.ts";
import { field, PERSON } from "../support/wall.ts";
import { policies } from "./policies.ts";

/** The family that Caddy sends, one line each. */
const family: Readonly<Record<string, readonly string[]>> = {
  "X-Forwarded-Method": ["GET"],
  "X-Forwarded-Uri": ["/page"],
  "X-Forwarded-Host": ["site.test"],
  "X-Forwarded-Proto": ["https"],
  "X-Forwarded-For": ["198.51.100.7"],
};

let nextId = 0;

/** Asks the sidecar as a proxy does, with some fields of the family replaced. */
async function ask(
  sidecar: Sidecar,
  changes: Readonly<Record<string, readonly string[]>> = {},
  more: readonly string[] = [],
): Promise<{ readonly answer: RawAnswer; readonly id: string }> {
  nextId += 1;
  const id = `request-${nextId}`;
  const fields = { ...family, ...changes };
  const lines = Object.entries(fields).flatMap(([name, values]) =>
    values.map((value) => `${name}: ${value}`),
  );
  const request = [
    "GET /authz/forward-auth?id=1 HTTP/1.1",
    "Host: localhost",
    `User-Agent: ${PERSON}`,
    `X-Request-Id: ${id}`,
    ...lines,
    ...more,
    "Connection: close",
    "",
    "",
  ];
  const answer = await sendRaw(sidecar.door, request.join("\r\n"));
  if (answer === undefined) throw new Error("the sidecar closed without an answer");
  return { answer, id };
}

describe("the endpoint that a proxy asks, without trusted proxies", () => {
  let sidecar: Sidecar;
  beforeAll(async () => {
    sidecar = await startSidecar({ policies });
  });
  afterAll(() => sidecar.stop());

  it("allows with an empty body whose length is said, so that the connection is kept", async () => {
    const { answer } = await ask(sidecar);
    expect(answer.status).toBe(200);
    expect(field(answer, "content-length")).toBe("0");
  });

  it.each(Object.keys(family))("refuses a request without %s, in every mode", async (name) => {
    const enforced = await ask(sidecar, { [name]: [] });
    const shadow = await ask(sidecar, { "X-Forwarded-Host": ["shadow.test"], [name]: [] });
    expect([enforced.answer.status, shadow.answer.status]).toEqual([400, 400]);
  });

  it.each(Object.keys(family))("refuses a request whose %s is empty or doubled", async (name) => {
    const value = family[name]?.[0] ?? "";
    expect((await ask(sidecar, { [name]: [""] })).answer.status).toBe(400);
    expect((await ask(sidecar, { [name]: [value, value] })).answer.status).toBe(400);
  });

  it.each(["{client_ip}", "{http.request.remote.host}"])(
    "refuses the literal placeholder %s of a misconfigured proxy, in shadow too",
    async (placeholder) => {
      const changes = { "X-Forwarded-For": [placeholder] };
      const shadow = { ...changes, "X-Forwarded-Host": ["shadow.test"] };
      expect((await ask(sidecar, changes)).answer.status).toBe(400);
      expect((await ask(sidecar, shadow)).answer.status).toBe(400);
    },
  );

  it.each([
    ["1.2.3.4", "1.2.3.4"],
    ["1.2.3.4:80", "1.2.3.4"],
    ["2001:DB8::1", "2001:db8::1"],
    ["[2001:db8::1]", "2001:db8::1"],
    ["[2001:db8::1]:443", "2001:db8::1"],
    ["::ffff:1.2.3.4", "1.2.3.4"],
    ["2001:db8:0:0:0:0:0:1", "2001:db8::1"],
    ["fe80::1%eth0", "fe80::1"],
  ])("reads %s as the address %s (E5, E6)", async (value, ip) => {
    const { answer, id } = await ask(sidecar, { "X-Forwarded-For": [value] });
    expect(answer.status).toBe(200);
    expect(await sidecar.event(id)).toMatchObject({ ip });
  });

  it.each([
    "unknown",
    "_hidden",
    '"1.2.3.4"',
    "01.2.3.4",
    "0x7f.1",
    "1.2.3",
    "<script>",
    "1.2.3.4, 5.6.7.8",
    "1.2.3.4,5.6.7.8",
    ",,",
  ])("refuses %s, which is not one address (E2, E5)", async (value) => {
    const { answer, id } = await ask(sidecar, { "X-Forwarded-For": [value] });
    expect(answer.status).toBe(400);
    expect(await sidecar.event(id)).toMatchObject({ rule_id: "runtime.malformed_request" });
  });

  it.each([
    "127.0.0.1",
    "10.1.2.3",
    "192.168.0.1",
    "100.64.0.1",
    "169.254.1.1",
    "::1",
    "224.0.0.1",
  ])("verifies nobody by the address %s, which proves nothing (E7)", async (value) => {
    const { answer, id } = await ask(sidecar, { "X-Forwarded-For": [value] }, []);
    expect(answer.status).toBe(200);
    expect(await sidecar.event(id)).toMatchObject({ verified: false });
  });

  it.each([
    "/secret#f",
    "/secret#?x",
    "http:/secret",
    "http:///secret",
    "HTTP://site.test/secret",
    "http://site.test/secret?x",
    "https://user:pw@shadow.test/secret",
  ])("judges the target %s, which other proxies send, by its path", async (uri) => {
    const { answer, id } = await ask(sidecar, { "X-Forwarded-Uri": [uri] });
    expect(answer.status).toBe(403);
    expect(await sidecar.event(id)).toMatchObject({ host: "site.test", rule_id: "block_private" });
  });

  it.each(["*", "secret", "?x", "http://site.test", "/a%", "/a%zz", "/a%0"])(
    "refuses the target %s as malformed",
    async (uri) => {
      const { answer, id } = await ask(sidecar, { "X-Forwarded-Uri": [uri] });
      expect(answer.status).toBe(400);
      expect(await sidecar.event(id)).toMatchObject({ rule_id: "runtime.malformed_request" });
    },
  );

  it.each(["SITE.TEST", "site.test:443", "site.test.", "Site.Test.:8443"])(
    "finds the site of the host %s (F1)",
    async (host) => {
      const { answer, id } = await ask(sidecar, { "X-Forwarded-Host": [host] });
      expect(answer.status).toBe(200);
      expect(await sidecar.event(id)).toMatchObject({ site_id: "site", host: "site.test" });
    },
  );

  it.each(["other.test", "site.test, other.test", "a.site.test"])(
    "refuses the host %s that no site speaks for",
    async (host) => {
      const { answer } = await ask(sidecar, { "X-Forwarded-Host": [host] });
      expect([400, 421]).toContain(answer.status);
    },
  );

  it.each(["https, http", "ws", "HTTPS "])(
    "never takes the scheme %j for an allow",
    async (proto) => {
      const { answer } = await ask(sidecar, {
        "X-Forwarded-Proto": [proto],
        "X-Forwarded-Uri": ["/secret"],
      });
      expect([400, 403]).toContain(answer.status);
    },
  );

  it.each([
    ["a 33-character method", "M".repeat(33)],
    ["a method that is no token", "GE T"],
    ["a method with a control character", "GET\x01"],
  ])("refuses %s", async (_, method) => {
    const { answer } = await ask(sidecar, { "X-Forwarded-Method": [method] });
    expect(answer.status).toBe(400);
  });

  it.each([1_100, 2_000, 4_000])(
    "refuses a request of %i header fields rather than losing some (C2)",
    async (count) => {
      const { answer } = await ask(
        sidecar,
        {},
        Array.from({ length: count }, () => "A:"),
      );
      expect(answer.status).toBeGreaterThanOrEqual(400);
    },
  );

  it.each(["POST", "PROPFIND", "M-SEARCH", "DELETE"])(
    "answers a %s with a body of any type by the forwarded family alone (A9, A10)",
    async (method) => {
      const lines = Object.entries(family).map(([name, [value]]) => `${name}: ${value}`);
      const own = ["Host: localhost", `User-Agent: ${PERSON}`, "Content-Type: ;;;"];
      const body = "x".repeat(1_000);
      const request = head(
        "/authz/forward-auth",
        [...own, ...lines, "Content-Length: 1000"],
        method,
      );
      const answer = await sendRaw(sidecar.door, request + body);
      expect(answer?.status).toBe(200);
    },
  );

  it.each([
    "/",
    "/authz",
    "/authz/forward-auth/x",
    "/authz/caf%E9",
    "/authz/a%",
    "//authz/forward-auth/..",
  ])("allows nothing at any other URL: %s", async (url) => {
    const lines = Object.entries(family).map(([name, [value]]) => `${name}: ${value}`);
    const answer = await sendRaw(sidecar.door, head(url, ["Host: localhost", ...lines]));
    expect(answer?.status).toBeGreaterThanOrEqual(400);
  });
});

describe("the endpoint that a proxy asks, behind 10.0.0.0/8 and 2001:db8::/32", () => {
  let sidecar: Sidecar;
  beforeAll(async () => {
    const flags = ["--trusted-proxies", "10.0.0.0/8,2001:db8::/32"];
    sidecar = await startSidecar({ policies, flags });
  });
  afterAll(() => sidecar.stop());

  it.each<[string, string | null]>([
    ["203.0.113.9", "203.0.113.9"],
    ["203.0.113.9, 10.0.0.1", "203.0.113.9"],
    ["1.1.1.1, 203.0.113.9, 10.0.0.1", "203.0.113.9"],
    ["1.1.1.1,203.0.113.9,10.0.0.1 ,  10.0.0.2", "203.0.113.9"],
    ["1.1.1.1, 203.0.113.9, 2001:db8::7", "203.0.113.9"],
    ["203.0.113.9, ::ffff:10.0.0.1", "203.0.113.9"],
    ["203.0.113.9:4711, [2001:db8::7]:443", "203.0.113.9"],
    ["10.0.0.3, 10.0.0.1", "10.0.0.3"],
    ["66.249.66.1, unknown, 10.0.0.1", null],
    ["66.249.66.1, , 10.0.0.1", null],
    ["66.249.66.1, 01.2.3.4", null],
  ])("finds the client in %s: %s (E2, E3, E4)", async (chain, ip) => {
    const { answer, id } = await ask(sidecar, { "X-Forwarded-For": [chain] });
    expect(answer.status).toBe(200);
    expect(await sidecar.event(id)).toMatchObject({ ip });
  });

  it("ends the walk after 32 hops, and verifies nobody (E12)", async () => {
    const chain = ["20.125.66.81", ...Array.from({ length: 1_200 }, () => "10.0.0.1")].join(",");
    const { answer, id } = await ask(sidecar, { "X-Forwarded-For": [chain] });
    expect(answer.status).toBe(200);
    expect(await sidecar.event(id)).toMatchObject({ ip: null });
  });
});
