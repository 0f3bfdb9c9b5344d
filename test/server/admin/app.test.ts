import { Writable } from "node:stream";
import { pino } from "pino";
import { expect, test } from "vitest";
import { createAdmin } from "../../../src/server/admin/app.ts";

const metrics = { contentType: "text/plain", text: async () => "crawlwall_up 1\n" };

function adminWith(token?: string): ReturnType<typeof createAdmin> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  return createAdmin({ log: pino(silent), hosts: ["Metrics.internal"], token, metrics });
}

test.each([
  ["localhost:9302", 200],
  ["127.0.0.1:9302", 200],
  ["[::1]:9302", 200],
  ["metrics.internal", 200],
  ["rebound.example", 421],
])("metrics asked for as `%s` are answered with %s", async (host, status) => {
  const answer = await adminWith().inject({ url: "/metrics", headers: { host } });
  expect(answer.statusCode).toBe(status);
  expect(answer.body.includes("crawlwall_up")).toBe(status === 200);
});

test.each([
  ["Bearer the-token-of-this-place", 200],
  ["bearer the-token-of-this-place", 200],
  ["Bearer another-token", 401],
  ["Basic the-token-of-this-place", 401],
  ["", 401],
])("where a token is asked for, `%s` is answered with %s", async (authorization, status) => {
  const app = adminWith("the-token-of-this-place");
  const headers = { host: "metrics.internal", authorization };
  const answer = await app.inject({ url: "/metrics", headers });
  expect(answer.statusCode).toBe(status);
  if (status === 401) expect(answer.headers["www-authenticate"]).toBe("Bearer");
});
