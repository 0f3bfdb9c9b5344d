import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startCaddy } from "../support/caddy.ts";
import { startEchoUpstream } from "../support/echo-upstream.ts";
import { startFlakyRelay } from "../support/flaky-relay.ts";
import { type LoadRequest, type LoadResult, startLoad } from "../support/load.ts";
import { newCaddy, oldCaddy } from "../support/programs.ts";
import { head, sendRaw } from "../support/raw-client.ts";
import { startSidecar } from "../support/sidecar.ts";
import { waitFor } from "../support/wait.ts";
import { setUps, startWall, type Wall } from "../support/wall.ts";
import { hosts, policies } from "./policies.ts";

const mix: readonly LoadRequest[] = [
  { path: "/page", host: "site.test", status: 200 },
  { path: "/secret", host: "site.test", status: 403 },
  { path: "/form", host: "site.test", status: 200, method: "POST", body: "name=value" },
  { path: "/page", host: "site.test", status: 403, userAgent: "GPTBot/1.1" },
  { path: "/page", host: "site.test", status: 200, userAgent: "demobot/1", from: "127.0.0.2" },
];

describe.each(setUps)("$name", ({ options }) => {
  let wall: Wall;
  beforeAll(async () => {
    wall = await startWall({ ...options, policies, hosts });
  });
  afterAll(() => wall.stop());

  it.each(["SIGKILL", "SIGTERM"] as const)(
    "shows clients nothing of a sidecar that is ended by %s and is back within two seconds",
    async (signal) => {
      // A busy machine takes longer to start a process: then another try, but no more than three.
      const away: number[] = [];
      for (let attempt = 1; attempt <= 3; attempt += 1) {
        const { wrong, gaveUp, awayMs } = await restartUnderLoad(wall, signal);
        expect(wrong).toEqual({});
        if (awayMs <= 1_700) {
          expect(gaveUp).toBe(0);
          return;
        }
        away.push(Math.round(awayMs));
      }
      process.stdout.write(`restart: no quick one seen, away for ${away.join(", ")} ms\n`);
    },
    120_000,
  );

  it("records one event for each request, however often the proxy asked", async () => {
    const ids = wall.sidecar.events().map((event) => event.id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe.each(setUps.filter(({ options }) => options.over === "tcp"))("$name", ({ options }) => {
  let wall: Wall;
  beforeAll(async () => {
    wall = await startWall({ ...options, policies, hosts });
  });
  afterAll(() => wall.stop());

  it("takes a changed policy up, and keeps the last good set when a file is broken", async () => {
    const good = policies["site.yaml"] ?? "";
    const refuses = async (status: number): Promise<true | undefined> =>
      (await wall.send("/page")).status === status ? true : undefined;
    wall.sidecar.writePolicy(
      "site.yaml",
      good.replace(
        "rules:",
        "rules:\n  - {id: shut, priority: 1, when: 'true', action: {type: block, status: 451}}",
      ),
    );
    await waitFor("the changed policy", () => refuses(451));
    wall.sidecar.writePolicy("site.yaml", good.replace("rules:", "rulez:"));
    await waitFor(
      "a complaint about the broken policy",
      () => wall.sidecar.process().output().includes("rulez") || undefined,
    );
    expect((await wall.send("/page")).status).toBe(451);
    expect((await wall.send("/page", { host: "shadow.test" })).status).toBe(200);
    wall.sidecar.writePolicy("site.yaml", good);
    wall.sidecar.process().child.kill("SIGHUP");
    await waitFor("the good policy", () => refuses(200));
  });

  it("answers 503 with Retry-After, never the page, while the sidecar is away", async () => {
    const reached = wall.backend.requests();
    await wall.sidecar.kill();
    const started = performance.now();
    const answer = await wall.send("/page");
    expect(answer.status).toBe(503);
    expect(answer.fields.get("retry-after")).toEqual(["30"]);
    expect(answer.fields.get("crawlwall-request-id")).toHaveLength(1);
    expect(performance.now() - started).toBeGreaterThan(1_500);
    expect(wall.backend.requests()).toBe(reached);
    await wall.sidecar.start();
  });

  it("serves the site's own robots.txt while the sidecar is away", async () => {
    await wall.sidecar.kill();
    const read = await wall.send("/robots.txt");
    const posted = await wall.send("/robots.txt", { method: "POST" });
    expect(read.status).toBe(200);
    expect(read.body).toContain('"x-crawlwall-decision":"fail_open"');
    expect(posted.status).toBe(503);
    await wall.sidecar.start();
  });
});

describe.each([oldCaddy, newCaddy])("$name", (caddy) => {
  it("asks again when an answer is lost, and that is one decision and one token", async () => {
    const backend = await startEchoUpstream();
    const sidecar = await startSidecar({ policies });
    const relay = await startFlakyRelay(Number(sidecar.door));
    const front = await startCaddy({
      caddy,
      hosts,
      sidecar: `127.0.0.1:${relay.port}`,
      backend: backend.port,
      env: { CRAWLWALL_KEEPALIVE: "off" },
    });
    const statuses: (number | undefined)[] = [];
    for (let count = 1; count <= 11; count += 1) {
      const lines = ["Host: site.test", "User-Agent: slowbot/1.0"];
      const answer = await sendRaw(front.port, head("/page", lines), { from: "127.0.0.3" });
      statuses.push(answer?.status);
    }
    expect(statuses).toEqual([...Array<number>(10).fill(200), 429]);
    expect(relay.lost()).toBe(11);
    expect(sidecar.events()).toHaveLength(11);
    await front.stop();
    await relay.close();
    await sidecar.stop();
    await backend.close();
  });
});

interface Restart extends LoadResult {
  readonly awayMs: number;
}

async function restartUnderLoad(wall: Wall, signal: "SIGKILL" | "SIGTERM"): Promise<Restart> {
  const load = startLoad(wall.caddy.port, mix, 10);
  await waitFor("traffic", () => load.answered() > 100 || undefined, 30_000);
  const { child, ended } = wall.sidecar.process();
  const awaySince = performance.now();
  child.kill(signal);
  const how = await ended;
  await wall.sidecar.start();
  const awayMs = performance.now() - awaySince;
  const before = load.answered();
  await waitFor("traffic again", () => load.answered() > before + 50 || undefined, 30_000);
  expect(how).toBe(signal === "SIGTERM" ? 0 : "SIGKILL");
  return { ...(await load.stop()), awayMs };
}
