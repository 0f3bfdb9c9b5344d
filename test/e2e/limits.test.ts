import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { field, setUps, startWall, type Wall, type WallRequest } from "../support/wall.ts";
import { hosts, policies } from "./policies.ts";

const slowbot: WallRequest = { userAgent: "slowbot/1.0", from: "127.0.0.3" };

describe("10 requests a minute", () => {
  const walls = new Map<string, Wall>();
  beforeAll(async () => {
    for (const { name, options } of setUps) {
      walls.set(name, await startWall({ ...options, policies, hosts }));
    }
  }, 240_000);
  afterAll(async () => {
    for (const wall of walls.values()) await wall.stop();
  });
  const wallOf = (name: string): Wall => {
    const wall = walls.get(name);
    if (wall === undefined) throw new Error(`no wall ${name}`);
    return wall;
  };

  // Side by side, since each waits some seconds for a token.
  it.concurrent.each(setUps)("the 11th is refused until Retry-After ($name)", async ({ name }) => {
    const wall = wallOf(name);
    for (let count = 1; count <= 10; count += 1) {
      expect((await wall.send(`/page/${count}`, slowbot)).status).toBe(200);
    }
    const refused = await wall.send("/page/11", slowbot);
    expect(refused.status).toBe(429);
    const seconds = Number(field(refused, "retry-after"));
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThanOrEqual(6);
    expect(field(refused, "ratelimit-policy")).toBe('"requests";q=10;w=60');
    expect(field(refused, "ratelimit")).toBe(`"requests";r=0;t=${seconds}`);
    expect(await wall.eventOf(refused)).toMatchObject({
      action: "rate_limit_exceeded",
      rule_id: "limit_slowbot",
      status: 429,
    });
    expect((await wall.send("/page")).status).toBe(200);
    await sleep(seconds * 1_000);
    expect((await wall.send("/page/12", slowbot)).status).toBe(200);
  });

  it.concurrent.each(setUps)("are counted in shadow too, and served ($name)", async ({ name }) => {
    const wall = wallOf(name);
    const shadow = { ...slowbot, host: "shadow.test" };
    for (let count = 1; count <= 10; count += 1) await wall.send("/page", shadow);
    const answer = await wall.send("/page", shadow);
    expect(answer.status).toBe(200);
    expect(answer.body).toContain('"x-crawlwall-decision":"would_rate_limit"');
    expect(await wall.eventOf(answer)).toMatchObject({
      action: "rate_limit_exceeded",
      would_block: true,
      status: 200,
    });
  });
});
