import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseEcho } from "../support/echo-upstream.ts";
import { newCaddy, oldCaddy } from "../support/programs.ts";
import { startWall, type Wall } from "../support/wall.ts";
import { closedToGptbot } from "./policies.ts";

const CRAWLER = { userAgent: "GPTBot/1.2" };

/** Targets that Caddy's own path matcher, or an application, may take for `/robots.txt`. */
const SPELLINGS = [
  "//robots.txt",
  "/%72obots.txt",
  "/robots%2Etxt",
  "/x/../robots.txt",
  "/./robots.txt",
  "/x/%2e%2e/robots.txt",
  "/ROBOTS.TXT",
  "/robots.txt?x",
  "/robots.txt?",
  "/robots.txt/",
  "/robots.txt;x",
];

describe.each([oldCaddy, newCaddy])("through $name, with robots.txt served", (caddy) => {
  let folder: string;
  let wall: Wall;
  let file: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "crawlwall-spellings-"));
    wall = await startWall({
      caddy,
      policies: { "site.yaml": closedToGptbot },
      flags: ["--robots-dir", folder],
      env: { CRAWLWALL_ROBOTS_DIR: folder },
    });
    file = (await wall.send("/robots.txt", CRAWLER)).body;
  });

  afterAll(async () => {
    await wall.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test("the exact target is answered with our file, also to a crawler that is refused", async () => {
    expect(file).toContain("User-agent: GPTBot\nDisallow: /\n");
    expect(await wall.send("/robots.txt", CRAWLER)).toMatchObject({ status: 200, body: file });
  });

  test.each(SPELLINGS)("%s is judged like any path, and the application has it", async (target) => {
    const before = wall.backend.requests();
    expect((await wall.send(target, CRAWLER)).status).toBe(403);
    expect(wall.backend.requests()).toBe(before);
    const answer = await wall.send(target);
    expect(answer.status).toBe(200);
    expect(parseEcho(answer.body).url).toBe(target);
  });

  test("other methods on the exact target are judged too", async () => {
    for (const method of ["POST", "OPTIONS", "DELETE"]) {
      expect((await wall.send("/robots.txt", { ...CRAWLER, method })).status).toBe(403);
    }
  });

  describe("while the sidecar is down", () => {
    // Caddy tries for a while before it gives up: all at once, then.
    const statuses = async (): Promise<readonly unknown[]> =>
      Promise.all(
        SPELLINGS.map(async (target) => [target, (await wall.send(target, CRAWLER)).status]),
      );
    const refused = SPELLINGS.map((target) => [target, 503]);

    test("the kept file is for the exact target alone", async () => {
      await wall.sidecar.kill();
      expect(await wall.send("/robots.txt", CRAWLER)).toMatchObject({ status: 200, body: file });
      expect(await statuses()).toEqual(refused);
    });

    test("without a kept file, so is the application's own", async () => {
      rmSync(join(folder, "site.test.txt"));
      const before = wall.backend.requests();
      const answer = await wall.send("/robots.txt", CRAWLER);
      expect(parseEcho(answer.body).url).toBe("/robots.txt");
      expect(await statuses()).toEqual(refused);
      expect(wall.backend.requests()).toBe(before + 1);
    });
  });
});
