import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type LoadRequest, startLoad } from "../support/load.ts";
import { newCaddy } from "../support/programs.ts";
import { startWall, type Wall } from "../support/wall.ts";
import { hosts, policies } from "./policies.ts";

/** Long by `CRAWLWALL_SOAK_SECONDS=60`; else just long enough to show a reload that breaks answers. */
const SECONDS = Number(process.env.CRAWLWALL_SOAK_SECONDS ?? "8");

const mix: readonly LoadRequest[] = [
  { path: "/page?q=1", host: "site.test", status: 200 },
  { path: "/page", host: "site.test", status: 403, userAgent: "GPTBot/1.1" },
  { path: "/archive/1", host: "site.test", status: 403 },
  { path: "/toggled", host: "site.test", status: [403, 451] },
  { path: "/page", host: "site.test", status: 200, userAgent: "demobot/1", from: "127.0.0.2" },
  { path: "/y/..%2f..%2fsecret", host: "site.test", status: 403 },
  { path: "/a%00b", host: "site.test", status: 400 },
  { path: "/a%00b", host: "shadow.test", status: 200 },
  { path: "/secret", host: "shadow.test", status: 200 },
  { path: "/SECRET", host: "caseless.test", status: 403 },
  { path: "/form", host: "site.test", status: 200, method: "POST", body: "a=b" },
  { path: "/robots.txt", host: "site.test", status: 200 },
];

/** A heap that is filled soon and cleared often: what still grows after that is lost for good. */
const nodeOptions = ["--max-old-space-size=96", "--max-semi-space-size=2"];

let wall: Wall;
beforeAll(async () => {
  wall = await startWall({ caddy: newCaddy, policies: withToggle(403), hosts, nodeOptions });
});
afterAll(() => wall.stop());

it(
  `answers everything right for ${SECONDS} s with a reload every second, in steady memory`,
  async () => {
    const load = startLoad(wall.caddy.port, mix, 32);
    const memory: number[] = [];
    for (let second = 1; second <= SECONDS; second += 1) {
      await sleep(1_000);
      const site = withToggle(second % 2 === 0 ? 403 : 451)["site.yaml"] ?? "";
      wall.sidecar.writePolicy("site.yaml", site);
      wall.sidecar.process().child.kill("SIGHUP");
      memory.push(residentMegabytes());
    }
    const { answered, wrong, gaveUp } = await load.stop();
    expect(wrong).toEqual({});
    expect(gaveUp).toBe(0);
    expect(answered).toBeGreaterThan(SECONDS * 20);
    const warm = memory.slice(Math.floor(memory.length / 3));
    const growth = median(warm.slice(warm.length / 2)) / median(warm.slice(0, warm.length / 2));
    expect(growth).toBeLessThan(SECONDS >= 60 ? 1.1 : 1.5);
    process.stdout.write(`soak: ${answered} answers, ${memory.join(" ")} MB\n`);
  },
  (SECONDS + 30) * 1_000,
);

function withToggle(status: number): Readonly<Record<string, string>> {
  const rule = `rules:\n  - {id: toggled, priority: 1, when: request.path == "/toggled", action: {type: block, status: ${status}}}`;
  return { ...policies, "site.yaml": (policies["site.yaml"] ?? "").replace("rules:", rule) };
}

function residentMegabytes(): number {
  const status = readFileSync(`/proc/${wall.sidecar.process().child.pid}/status`, "utf8");
  return Math.round(Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
