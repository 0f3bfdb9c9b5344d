import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { newCaddy, oldCaddy } from "../support/programs.ts";
import { head, sendRaw } from "../support/raw-client.ts";
import { waitFor } from "../support/wait.ts";
import { field, startWall, type Wall } from "../support/wall.ts";
import { policies } from "./policies.ts";

const KEY = "a-key-of-this-test-0123456789";

const accessSchema = z.object({
  status: z.number(),
  request: z.object({ uri: z.string() }),
  resp_headers: z.record(z.string(), z.array(z.string())),
});

describe.each([oldCaddy, newCaddy])(
  "$name with a shared key, an access log and robots files",
  (caddy) => {
    let wall: Wall;
    let folder: string;
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), "crawlwall-set-up-"));
      writeFileSync(join(folder, "key"), `${KEY}\n`);
      mkdirSync(join(folder, "robots"));
      writeFileSync(join(folder, "robots", "site.test.txt"), "User-agent: *\nDisallow: /kept\n");
      wall = await startWall({
        caddy,
        policies,
        hosts: ["site.test", "shadow.test"],
        flags: ["--shared-key-file", join(folder, "key")],
        env: {
          CRAWLWALL_KEY: KEY,
          CRAWLWALL_ACCESS_LOG: "json",
          CRAWLWALL_ACCESS_LOG_TO: `file ${join(folder, "access.log")}`,
          CRAWLWALL_ROBOTS_DIR: join(folder, "robots"),
        },
      });
    });
    afterAll(async () => {
      await wall.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    it("is answered by the sidecar, and nobody else is", async () => {
      const family = [
        "X-Forwarded-Method: GET",
        "X-Forwarded-Uri: /page",
        "X-Forwarded-Host: site.test",
        "X-Forwarded-Proto: http",
        "X-Forwarded-For: 198.51.100.7",
      ];
      const ask = async (url: string, ...more: readonly string[]): Promise<number | undefined> => {
        const lines = ["Host: localhost", ...family, ...more];
        return (await sendRaw(wall.sidecar.door, head(url, lines)))?.status;
      };
      expect((await wall.send("/page")).status).toBe(200);
      expect(await ask("/authz/forward-auth", `X-CrawlWall-Key: ${KEY}`)).toBe(200);
      expect(await ask("/authz/forward-auth")).toBe(403);
      expect(
        await ask("/authz/forward-auth", "X-CrawlWall-Key: a-key-of-this-test-012345678X"),
      ).toBe(403);
      expect(await ask("/authz/forward-auth", "X-CrawlWall-Key:")).toBe(403);
      expect(await ask("/healthz")).toBe(200);
      expect(await ask("/readyz")).toBe(200);
    });

    it("shows the key to neither client nor application nor logs", async () => {
      const allowed = await wall.send("/page", { lines: ["X-CrawlWall-Key: guessed"] });
      const refused = await wall.send("/secret");
      expect(allowed.body + refused.body).not.toMatch(/guessed|a-key-of-this-test/);
      expect([...refused.fields.values()].flat().join()).not.toContain(KEY);
      await accessOf(folder, field(refused, "crawlwall-request-id"));
      expect(readFileSync(join(folder, "access.log"), "utf8")).not.toContain(KEY);
      expect(wall.sidecar.process().output()).not.toContain(KEY);
    });

    it("joins Caddy's access log with the decision log", async () => {
      const answer = await wall.send("/secret/page?x=1");
      const id = field(answer, "crawlwall-request-id");
      const line = await accessOf(folder, id);
      expect(line).toMatchObject({ status: 403, request: { uri: "/secret/page?x=1" } });
      expect(await wall.eventOf(answer)).toMatchObject({ request_id: id, path: "/secret/page" });
    });

    it("serves the kept robots.txt of a host while the sidecar is away, else the site's own", async () => {
      await wall.sidecar.kill();
      const [kept, own, queried] = await Promise.all([
        wall.send("/robots.txt", { userAgent: "GPTBot/1.1" }),
        wall.send("/robots.txt", { host: "shadow.test" }),
        wall.send("/robots.txt?x", { userAgent: "GPTBot/1.1" }),
      ]);
      expect([kept.status, kept.body]).toEqual([200, "User-agent: *\nDisallow: /kept\n"]);
      expect(field(kept, "content-type")).toContain("text/plain");
      expect([own.status, queried.status]).toEqual([200, 503]);
      expect(own.body).toContain('"x-crawlwall-decision":"fail_open"');
      await wall.sidecar.start();
    });
  },
);

type AccessLine = z.infer<typeof accessSchema>;

function accessOf(folder: string, id: string | undefined): Promise<AccessLine> {
  const file = join(folder, "access.log");
  return waitFor(`the access log's line of ${id}`, () =>
    (existsSync(file) ? readFileSync(file, "utf8") : "")
      .split("\n")
      .filter((line) => line.endsWith("}"))
      .map((line) => accessSchema.parse(JSON.parse(line)))
      .find((line) => line.resp_headers["Crawlwall-Request-Id"]?.[0] === id),
  );
}
