import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
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
      CRAWLWALL_RECEIPTS: "on",
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

describe("an application that Caddy asks twice", () => {
  it("is told our verdict both times, not what it said itself the first time", async () => {
    const told: (string | string[] | undefined)[] = [];
    const application = createServer((request, response) => {
      told.push(request.headers["x-crawlwall-decision"]);
      response
        .writeHead(told.length === 1 ? 503 : 200, { "X-Crawlwall-Decision": "own_words" })
        .end();
    }).listen(0, "127.0.0.1");
    const sidecar = createServer((_, response) => {
      response.writeHead(200, { "X-Crawlwall-Decision": "allow", "Content-Length": "0" }).end();
    }).listen(0, "127.0.0.1");
    await Promise.all([once(application, "listening"), once(sidecar, "listening")]);
    const retry = "\t\tlb_retries 1\n\t\tlb_retry_match expression `{rp.status_code} == 503`\n";
    const folder = mkdtempSync(join(tmpdir(), "crawlwall-retry-"));
    const shipped = readFileSync(`${root}${EDGE}`, "utf8");
    const line = "\t\theader_up X-Crawlwall-Rule {http.vars.crawlwall_rule}\n";
    expect(shipped).toContain(line);
    writeFileSync(join(folder, "Caddyfile"), shipped.replace(line, line + retry));
    const front = await startCaddy({
      caddy: newCaddy,
      file: join(folder, "Caddyfile"),
      hosts: ["site.test"],
      sidecar: `127.0.0.1:${portOf(sidecar)}`,
      backend: portOf(application),
    });
    const answer = await sendRaw(front.port, head("/page", ["Host: site.test"]));
    expect(answer?.status).toBe(200);
    expect(told).toEqual(["allow", "allow"]);
    await front.stop();
    for (const server of [application, sidecar]) {
      server.close();
      server.closeAllConnections();
    }
    rmSync(folder, { recursive: true, force: true });
  });
});

describe("what the Caddyfile keeps from the sidecar", () => {
  it("is what `policy check` warns of where a rule reads it", () => {
    const blocks = snippets(EDGE);
    const taken = `${blocks.get("clean")}${blocks.get("sidecar")}`;
    const names = [...taken.matchAll(/^\t+(?:request_header|header_up) (?:@\S+ )?-(\S+)$/gm)].map(
      ([, name = ""]) => name.toLowerCase().replaceAll("*", "x"),
    );
    const rules = names.map(
      (name, index) =>
        `  - {id: rule_${index}, priority: ${index}, when: 'header("${name}") != ""', action: allow}`,
    );
    const folder = mkdtempSync(join(tmpdir(), "crawlwall-withheld-"));
    const file = join(folder, "site.yaml");
    writeFileSync(file, `site: {id: site, host: site.test}\nrules:\n${rules.join("\n")}\n`);
    const check = [`${root}bin/crawlwall.js`, "policy", "check", "--config", file, "--json"];
    const { stdout } = spawnSync(process.execPath, check, { encoding: "utf8" });
    const { warnings } = warningsSchema.parse(JSON.parse(stdout));
    const warned = warnings
      .filter(({ code }) => code === "header_withheld")
      .map(({ path }) => Number(/\d+/.exec(path)?.[0]));
    expect(names.length).toBeGreaterThan(15);
    expect(names.filter((_, index) => !warned.includes(index))).toEqual([]);
    rmSync(folder, { recursive: true, force: true });
  });
});

const warningsSchema = z.object({
  warnings: z.array(z.object({ code: z.string(), path: z.string() })),
});

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
