import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningCaddy, startCaddyfile } from "../support/caddy.ts";
import { freePort } from "../support/free-port.ts";
import { newCaddy, oldCaddy } from "../support/programs.ts";
import { head, sendRaw } from "../support/raw-client.ts";
import { startWall, type Wall } from "../support/wall.ts";
import { hosts, policies } from "./policies.ts";

/** Raw UTF-8 as a client may put it on the wire, one character a byte. */
const wire = (text: string): string => Buffer.from(text, "utf8").toString("latin1");

/** Number of the case in the table of hostile paths, target, status, canonical path in the event. */
const judged: readonly (readonly [string, string, number, string])[] = [
  ["D1", "/a%2Fb", 403, "/a/b"],
  ["D1", "/a%2fb", 403, "/a/b"],
  ["D2", "//x", 403, "/x"],
  ["D2", "///", 200, "/"],
  ["D2", "/a//b", 403, "/a/b"],
  ["D3", "/a/../b", 403, "/b"],
  ["D3", "/a/./b", 403, "/a/b"],
  ["D3", "/a/..", 200, "/"],
  ["D3", "/../../etc", 403, "/etc"],
  ["D4", "/a/%2e%2e/b", 403, "/b"],
  ["D4", "/y/..%2f..%2fsecret/a.txt", 403, "/secret/a.txt"],
  ["D5", "/%61rchive", 403, "/archive"],
  ["D5", "/%41RCHIVE", 200, "/ARCHIVE"],
  ["D5", "/ARCHIVE", 200, "/ARCHIVE"],
  ["D6", "/a;v=1/b", 403, "/a;v=1/b"],
  ["D6", "/.well-known/..;/secret", 403, "/.well-known/..;/secret"],
  ["D6", "/secret%3Bb", 403, "/secret;b"],
  ["D7", "/a\\b", 403, "/a\\b"],
  ["D7", "/a%5Cb", 403, "/a\\b"],
  ["D7", "/private\\a", 403, "/private\\a"],
  ["D10", "/a%252Fb", 403, "/a%2Fb"],
  ["D10", "/.well-known/%252e%252e/secret", 403, "/.well-known/%2e%2e/secret"],
  ["D11", "/caf%C3%A9", 403, "/café"],
  ["D11", wire("/café"), 403, "/café"],
  ["D11", "/caf%E9", 200, "/caf%E9"],
  ["D11", "/a%C0%AFb", 200, "/a%C0%AFb"],
  ["D13", "/?", 200, "/"],
  ["D13", "/secret?", 403, "/secret"],
  ["D13", "/a??b", 200, "/a"],
  ["D14", "/secret?x=1#f", 403, "/secret"],
  ["D14", "/secret#f", 200, "/secret#f"],
  ["D15", "/a?x=%", 200, "/a"],
  ["D15", "/secret?x=a;b", 403, "/secret"],
  ["D15", '/a?q="<>{}', 200, "/a"],
  ["D17", "http://site.test/secret?x", 403, "/secret"],
  ["D17", "HTTP://SITE.TEST/secret", 403, "/secret"],
  ["D17", "http://user:pw@site.test/secret", 403, "/secret"],
  ["D17", "https://site.test/secret", 403, "/secret"],
  ["D17", "http://site.test/open?x", 200, "/open"],
  ["D20", "/a{http.request.host}", 200, "/a{http.request.host}"],
  ["D20", "/a?{env.HOME}", 200, "/a"],
  ["D21", "/secret?/public", 403, "/secret"],
  ["D21", "/open?/secret", 200, "/open"],
  ["D22", "/secret-evil", 200, "/secret-evil"],
  ["D22", "/secrets", 200, "/secrets"],
  ["D22", "/secret/", 403, "/secret/"],
  ["D23", "/public/../admin", 403, "/admin"],
  ["D23", "/public/page", 200, "/public/page"],
  ["F", "/y//../secret", 403, "/secret"],
  ["F", "/y/%2f../secret", 403, "/secret"],
  ["F", "/y//%2e%2e/secret", 403, "/secret"],
];

/** Refused before any rule: by Caddy itself, or by us as malformed. */
const malformed: readonly (readonly [string, string, number, "caddy" | "crawlwall"])[] = [
  ["D8", "/a%00b", 400, "crawlwall"],
  ["D9", "/a%0d%0aX:1", 400, "crawlwall"],
  ["D12", "/a%", 400, "caddy"],
  ["D12", "/a%zz", 400, "caddy"],
  ["D12", "/a b", 400, "caddy"],
  ["D12", "/a\tb", 400, "caddy"],
  ["D12", "abs-no-slash", 400, "caddy"],
  ["D12", "?x", 400, "caddy"],
  ["D19", "*", 400, "crawlwall"],
  ["C4", `/${"a".repeat(8_300)}`, 414, "crawlwall"],
];

describe.each([oldCaddy, newCaddy])("behind $name", (caddy) => {
  let wall: Wall;
  beforeAll(async () => {
    wall = await startWall({ caddy, policies, hosts });
  });
  afterAll(() => wall.stop());

  it.each(judged)("judges %s %s as it may be read: %i, %s", async (_, target, status, path) => {
    const reached = wall.backend.requests();
    const answer = await wall.send(target);
    expect(answer.status).toBe(status);
    expect(await wall.eventOf(answer)).toMatchObject({ path, status });
    expect(wall.backend.requests() - reached).toBe(status === 200 ? 1 : 0);
  });

  it.each(malformed)("refuses %s %s with %i", async (_, target, status, by) => {
    const reached = wall.backend.requests();
    const answer = await wall.send(target);
    expect(answer.status).toBe(status);
    expect(wall.backend.requests()).toBe(reached);
    expect(by === "crawlwall" ? (await wall.eventOf(answer)).rule_id : by).toBe(
      by === "crawlwall" ? "runtime.malformed_request" : "caddy",
    );
  });

  it.each(["/%41RCHIVE", "/Archive/a", "/SECRET", "/Y/..%2fSecret"])(
    "refuses %s where the site has no letter case in paths",
    async (target) => {
      const answer = await wall.send(target, { host: "caseless.test" });
      expect(answer.status).toBe(403);
    },
  );

  it("says which reading decided, where it is not the canonical one", async () => {
    const answer = await wall.send("/a;v=1/b");
    expect(await wall.eventOf(answer)).toMatchObject({ path: "/a;v=1/b", reading: "/a/b" });
  });

  it("judges a query of raw UTF-8 (D16), which an application on Node refuses itself", async () => {
    const answer = await wall.send(wire("/a?q=käse"));
    expect(await wall.eventOf(answer)).toMatchObject({ action: "allow", query: "q=käse" });
    expect((await wall.send(wire("/secret?q=käse"))).status).toBe(403);
  });

  it("hands a query of 8 KiB on, since only the path has a limit", async () => {
    const answer = await wall.send(`/a?${"q".repeat(8_000)}`);
    expect(answer.status).toBe(200);
  });

  it("cuts a long path in the record, not in the judgement", async () => {
    const answer = await wall.send(`/secret/${"a".repeat(7_000)}`);
    expect(answer.status).toBe(403);
    const { path } = await wall.eventOf(answer);
    expect(Buffer.byteLength(path)).toBeLessThanOrEqual(2_048);
    expect(path.startsWith("/secret/aaa")).toBe(true);
  });
});

describe.each([oldCaddy, newCaddy])("with the file server of $name behind", (caddy) => {
  let wall: Wall;
  let files: RunningCaddy;
  let front: Wall["send"];
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "crawlwall-files-"));
    mkdirSync(join(folder, "site"));
    mkdirSync(join(folder, "site", "y"));
    writeFileSync(join(folder, "site", "secret"), "the secret");
    const port = await freePort();
    const lines = [
      "{",
      "\tadmin off",
      "\tauto_https off",
      "}",
      `http://127.0.0.1:${port}, http://site.test:${port} {`,
      "\tbind 127.0.0.1",
      `\troot * ${join(folder, "site")}`,
      "\tfile_server",
      "}",
    ];
    writeFileSync(join(folder, "Caddyfile"), `${lines.join("\n")}\n`);
    files = await startCaddyfile(caddy, join(folder, "Caddyfile"), port);
    wall = await startWall({ caddy, policies, env: { CRAWLWALL_BACKEND: `127.0.0.1:${port}` } });
    front = wall.send;
  });
  afterAll(async () => {
    await wall.stop();
    await files.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each(["/secret", "/y//../secret", "/y/%2f../secret", "/y//%2e%2e/secret", "/y/..%2fsecret"])(
    "keeps %s from a client, which the file server would serve",
    async (target) => {
      const direct = await sendRaw(files.port, head(target, ["Host: site.test"]));
      const guarded = await front(target);
      expect(direct?.body).toBe("the secret");
      expect(guarded.status).toBe(403);
      expect(guarded.body).not.toContain("the secret");
    },
  );

  it("keeps the secret whatever the path is made of", async () => {
    const pieces = [
      "/",
      "/",
      "..",
      ".",
      "%2e",
      "%2E%2e",
      "%2f",
      "%2F",
      ";",
      "y",
      "%79",
      "\\",
      "%5c",
    ];
    const secrets = [
      "secret",
      "%73ecret",
      "secre%74",
      "secret/",
      "secret%2f",
      "secret/.",
      "secret?x",
    ];
    const target = fc
      .tuple(fc.array(fc.constantFrom(...pieces), { maxLength: 6 }), fc.constantFrom(...secrets))
      .map(([before, last]) => `/${before.join("")}/${last}`);
    let served = 0;
    const holds = async (path: string): Promise<void> => {
      const direct = await sendRaw(files.port, head(path, ["Host: site.test"]));
      if (direct?.body !== "the secret") return;
      served += 1;
      const guarded = await front(path);
      expect([path, guarded.status]).toEqual([path, 403]);
    };
    await fc.assert(fc.asyncProperty(target, holds), { numRuns: 300 });
    // Else the property has shown nothing.
    expect(served).toBeGreaterThan(20);
  });
});
