import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { describe, expect, it } from "vitest";
import { startCaddy } from "../support/caddy.ts";
import { startEchoUpstream } from "../support/echo-upstream.ts";
import { portOf } from "../support/free-port.ts";
import { type CaddyProgram, newCaddy, oldCaddy, root } from "../support/programs.ts";
import { head, sendRaw } from "../support/raw-client.ts";

const EDGE = "Caddyfile";
const BEHIND_CDN = "examples/behind-cdn/Caddyfile";

const settings: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ["nothing set", {}],
  [
    "everything set",
    {
      CRAWLWALL_SITE: "http://a.test, http://b.test",
      CRAWLWALL_BACKEND: "127.0.0.1:3000",
      CRAWLWALL_SIDECAR: "unix//run/crawlwall/crawlwall.sock",
      CRAWLWALL_KEEPALIVE: "60s",
      CRAWLWALL_KEY: "0123456789abcdef",
      CRAWLWALL_ROBOTS_DIR: "/srv/robots",
      CRAWLWALL_ACCESS_LOG: "json",
      CRAWLWALL_ACCESS_LOG_TO: "file /dev/null",
      CRAWLWALL_HTTP_PORT: "18080",
      CRAWLWALL_HTTPS_PORT: "18443",
      CRAWLWALL_BIND: "127.0.0.1",
      CRAWLWALL_CADDY_ADMIN: "off",
    },
  ],
];

describe.each([
  { caddy: oldCaddy, file: EDGE },
  { caddy: newCaddy, file: EDGE },
  { caddy: newCaddy, file: BEHIND_CDN },
])("$file on $caddy.name", ({ caddy, file }) => {
  it.each(settings)("is valid with %s", (_, env) => {
    const cdn = { CRAWLWALL_CDN: "198.51.100.0/24 2001:db8::/32" };
    const result = run(caddy, ["validate", "--config", file, "--adapter", "caddyfile"], {
      ...cdn,
      ...env,
    });
    expect(result.output).toContain("Valid configuration");
    expect(result.status).toBe(0);
  });

  it("is written as `caddy fmt` writes it", () => {
    const result = run(caddy, ["fmt", file], {});
    expect(result.stdout).toBe(readFileSync(`${root}${file}`, "utf8"));
  });
});

describe("the two Caddyfiles", () => {
  it("differ in nothing but the settings, what they believe of the proxy before, and who may come", () => {
    const edge = snippets(EDGE);
    const behindCdn = snippets(BEHIND_CDN);
    const same = ["check", "backend", "robots", "errors", "log_off", "log_json"];
    for (const name of same) expect(behindCdn.get(name)).toBe(edge.get(name));
    expect(behindCdn.get("sidecar")).toBe(edge.get("sidecar")?.replace(":off}", ":60s}"));
    expect([...behindCdn.keys()]).toEqual([...edge.keys()]);
  });
});

describe.each([oldCaddy, newCaddy])(
  "$name with something else at the sidecar's address",
  (caddy) => {
    it.each([
      ["200 without a decision", {}],
      ["200 with an empty decision", { "X-Crawlwall-Decision": "" }],
      ["200 with a decision that is no word", { "X-Crawlwall-Decision": "{http.vars.x}" }],
      ["200 with only an event", { "X-Crawlwall-Event": "x" }],
    ])("takes a %s for no allow", async (_, headers) => {
      const backend = await startEchoUpstream();
      const impostor = createServer((_request, response) => {
        response.writeHead(200, headers).end();
      }).listen(0, "127.0.0.1");
      await once(impostor, "listening");
      const front = await startCaddy({
        caddy,
        hosts: ["site.test"],
        sidecar: `127.0.0.1:${portOf(impostor)}`,
        backend: backend.port,
      });
      const lines = ["Host: site.test", "X-Crawlwall-Decision: allow"];
      const answer = await sendRaw(front.port, head("/page", lines));
      expect(answer?.status).toBe(503);
      expect(backend.requests()).toBe(0);
      await front.stop();
      impostor.close();
      impostor.closeAllConnections();
      await backend.close();
    });
  },
);

interface Run {
  readonly status: number | null;
  readonly stdout: string;
  readonly output: string;
}

function run(
  caddy: CaddyProgram,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Run {
  const { status, stdout, stderr } = spawnSync(caddy.path, args, {
    cwd: root,
    env: { ...process.env, ...env },
    encoding: "utf8",
  });
  return { status, stdout, output: stdout + stderr };
}

/** The text of each `(crawlwall_…)` block, without comments. */
function snippets(file: string): ReadonlyMap<string, string> {
  const text = readFileSync(`${root}${file}`, "utf8").replace(/^\s*#.*\n/gm, "");
  return new Map(
    [...text.matchAll(/^\(crawlwall_(\w+)\) \{\n(.*?)^\}/gms)].map(([, name = "", body = ""]) => [
      name,
      body,
    ]),
  );
}
