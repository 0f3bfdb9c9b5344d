import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Bot, BotVerifier } from "../../../src/core/bot/bot.ts";
import { openVerifier, type Verifier } from "../../../src/io/verify/verifier.ts";
import { waitFor } from "../../support/wait.ts";
import { botWith, policyWith, ranges, requestFrom } from "./support/claims.ts";
import {
  body,
  type Handler,
  type ListServer,
  prefixes,
  startListServer,
} from "./support/list-server.ts";
import { startScripted } from "./support/name-server.ts";

const GOOD = "203.0.113.7";
const HOUR = 3_600_000;

let dataDir: string;
const opened: { stop(): void | Promise<void> }[] = [];
const logged: string[] = [];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "crawlwall-verify-"));
  logged.length = 0;
});

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.stop();
  await rm(dataDir, { recursive: true, force: true });
});

async function serve(handler: Handler): Promise<ListServer> {
  const server = await startListServer(handler);
  opened.push(server);
  return server;
}

function open(bots: readonly Bot[], more: { dnsServers?: readonly string[] } = {}): Verifier {
  const verifier = openVerifier({
    dataDir,
    dnsServers: more.dnsServers ?? ["127.0.0.1:9"],
    timeoutMs: 1_000,
    allowInsecureSources: true,
    log: {
      info: (fields, message) => logged.push(`${message} ${JSON.stringify(fields)}`),
      warn: (fields, message) => logged.push(`${message} ${JSON.stringify(fields)}`),
    },
  });
  opened.push({ stop: () => verifier.close() });
  verifier.configure([policyWith(...bots)]);
  return verifier;
}

async function openReady(bot: Bot): Promise<Verifier> {
  const verifier = open([bot]);
  await verifier.ready();
  return verifier;
}

/** What is known without waiting, as a word. */
function known(verifier: Verifier, bot: Bot, ip: string, nowMs = Date.now()): string {
  const check = verifier.check(bot, requestFrom(ip), nowMs);
  return check.kind === "settled" ? check.proof.verification : `open: ${check.possible.join(" ")}`;
}

const statics: BotVerifier = { kind: "static_ranges", cidrs: ["127.0.0.2/32", "203.0.113.0/28"] };
const reverse: BotVerifier = { kind: "reverse_dns", allowedSuffixes: [".crawler.test"] };

test("an address in a published list is verified, with list, version and prefix", async () => {
  const server = await serve(prefixes("203.0.113.0/28", "2001:db8:5::/48"));
  const bot = botWith(ranges([server.url]));
  const verifier = await openReady(bot);
  const check = verifier.check(bot, requestFrom(GOOD), Date.now());
  expect(check).toMatchObject({
    kind: "settled",
    proof: {
      verification: "verified",
      evidence: {
        ip_ranges: {
          list: server.url,
          version: expect.stringMatching(/^[0-9a-f]{16}$/),
          prefix: "203.0.113.0/28",
        },
      },
    },
  });
  expect(known(verifier, bot, "2001:db8:5::1")).toBe("verified");
  expect(known(verifier, bot, "203.0.113.16")).toBe("refuted");
});

test.each([
  ["inside a static range", [statics], GOOD, "verified"],
  ["outside every static range", [statics], "198.51.100.1", "refuted"],
  ["loopback inside a static range", [statics], "127.0.0.2", "verified"],
  ["loopback outside every static range", [statics], "127.0.0.1", "unverifiable"],
  ["loopback, with reverse DNS", [reverse], "127.0.0.1", "unverifiable"],
  ["a private address, with reverse DNS", [reverse], "10.1.2.3", "unverifiable"],
  ["carrier-grade NAT, with reverse DNS", [reverse], "100.64.0.1", "unverifiable"],
  ["link-local, with reverse DNS", [reverse], "fe80::1", "unverifiable"],
  ["no address at all", [statics, reverse], "", "unverifiable"],
  ["a public address, with reverse DNS", [reverse], GOOD, "open: verified refuted unavailable"],
  ["a static range before reverse DNS", [statics, reverse], GOOD, "verified"],
  ["reverse DNS after a static range", [reverse, statics], GOOD, "verified"],
  [
    "outside a static range, with reverse DNS",
    [statics, reverse],
    "198.51.100.1",
    "open: verified refuted unavailable",
  ],
  ["verify: none", [], GOOD, "unverifiable"],
])("%s", (_what, verifiers, ip, expected) => {
  const bot = botWith(...verifiers);
  expect(known(open([bot]), bot, ip)).toBe(expected);
});

test("a private address is unverifiable whatever the lists say", async () => {
  const server = await serve(prefixes("203.0.113.0/28"));
  const bot = botWith(ranges([server.url]));
  const verifier = await openReady(bot);
  expect(known(verifier, bot, "192.168.1.1")).toBe("unverifiable");
});

test("with a list missing, reverse DNS can only prove or leave it unavailable", async () => {
  const server = await serve(body("gone", 404));
  const bot = botWith(ranges([server.url]), reverse);
  const verifier = await openReady(bot);
  expect(known(verifier, bot, GOOD)).toBe("open: verified unavailable");
});

test("an answer of the DNS settles the checks after it", async () => {
  const server = await startScripted(async (name, type) =>
    type === "PTR"
      ? { answers: [{ type: "PTR", name, ttl: 60, data: "one.crawler.test" }] }
      : { answers: [{ type: "A", name, ttl: 60, data: GOOD }] },
  );
  opened.push(server);
  const bot = botWith(statics, reverse);
  const verifier = open([bot], { dnsServers: [server.address] });
  const request = requestFrom("198.51.100.1");
  const proof = await verifier.prove(bot, request, Date.now());
  expect(proof).toMatchObject({
    verification: "refuted",
    evidence: {
      static_ranges: { reason: "not listed" },
      reverse_dns: {
        ptr: "one.crawler.test",
        reason: "the name does not point back to the address",
      },
    },
  });
  expect(verifier.check(bot, request, Date.now())).toEqual({ kind: "settled", proof });
});

test("warming asks the DNS in the background", async () => {
  const server = await startScripted(async () => ({ flags: 3 }));
  opened.push(server);
  const bot = botWith(reverse);
  const verifier = open([bot], { dnsServers: [server.address] });
  verifier.warm(bot, requestFrom(GOOD), Date.now());
  await waitFor("an answer", () => (known(verifier, bot, GOOD) === "refuted" ? true : undefined));
});

test("a bot that no policy holds is unavailable, never a person", () => {
  const verifier = open([]);
  expect(known(verifier, botWith(statics), GOOD)).toBe("unavailable");
});

test("one dead source among several leaves the others at work", async () => {
  const good = await serve(prefixes("203.0.113.0/28"));
  const dead = await serve(body("", 500));
  const bot = botWith(ranges([dead.url, good.url]));
  const verifier = await openReady(bot);
  expect(known(verifier, bot, GOOD)).toBe("verified");
  expect(known(verifier, bot, "198.51.100.1")).toBe("unavailable");
  expect(verifier.status()).toMatchObject([
    { source: dead.url, state: "failed", cidrs: null, error: "status 500" },
    { source: good.url, state: "fresh", cidrs: 1, error: null },
  ]);
});

test("until its list is read, a bot is unavailable", () => {
  const bot = botWith(ranges(["http://127.0.0.1:9/never.json"]));
  const verifier = open([bot]);
  expect(known(verifier, bot, GOOD)).toBe("unavailable");
  expect(verifier.status()).toMatchObject([{ state: "not_fetched" }]);
});

test("an expired list is not trusted under fail_closed, and for max_stale under use_stale", async () => {
  const server = await serve(prefixes("203.0.113.0/28"));
  const closed = botWith(ranges([server.url]));
  const stale = botWith(ranges([server.url], { staleAction: "use_stale", maxStaleMs: HOUR }));
  const verifier = open([closed, stale]);
  await verifier.ready();
  const now = Date.now();
  const outcomes = [0, 0.9, 1.1, 1.9, 2.1].map((hours) => [
    known(verifier, closed, GOOD, now + hours * HOUR),
    known(verifier, stale, GOOD, now + hours * HOUR),
  ]);
  expect(outcomes).toEqual([
    ["verified", "verified"],
    ["verified", "verified"],
    ["unavailable", "verified"],
    ["unavailable", "verified"],
    ["unavailable", "unavailable"],
  ]);
  expect(server.requests).toHaveLength(1);
});

test("a rotated list is picked up by the refresh, and the old addresses go", async () => {
  const server = await serve(prefixes("203.0.113.0/28"));
  const bot = botWith(ranges([server.url], { refreshMs: 400 }));
  const verifier = await openReady(bot);
  expect(known(verifier, bot, GOOD)).toBe("verified");
  server.answer(prefixes("198.51.100.0/28"));
  await waitFor("the new list", () =>
    known(verifier, bot, "198.51.100.1") === "verified" ? true : undefined,
  );
  expect(known(verifier, bot, GOOD)).toBe("refuted");
  expect(logged.join("\n")).toContain('"added":1,"removed":1');
});

test("a failing refresh keeps the last good list, and recovers by itself", async () => {
  const server = await serve(prefixes("203.0.113.0/28"));
  const bot = botWith(
    ranges([server.url], { refreshMs: 300, staleAction: "use_stale", maxStaleMs: HOUR }),
  );
  const verifier = await openReady(bot);
  server.answer(body("<!DOCTYPE html><title>Just a moment</title>"));
  const failed = await waitFor("a failure", () =>
    verifier.status().find((line) => line.error !== null),
  );
  expect(failed.error).toBe("the document is an HTML or XML page");
  expect(known(verifier, bot, GOOD)).toBe("verified");
  server.answer(prefixes("203.0.113.0/28"));
  await waitFor("recovery", () => (verifier.status()[0]?.error === null ? true : undefined));
});

test("a list that suddenly loses most of its prefixes is held back, then believed", async () => {
  const many = Array.from({ length: 20 }, (_, index) => `203.0.113.${index}/32`);
  const server = await serve(prefixes(...many));
  const bot = botWith(ranges([server.url], { refreshMs: 2_000 }));
  const verifier = await openReady(bot);
  server.answer(prefixes("198.51.100.1/32"));
  const held = await waitFor("the change", () =>
    verifier.status().find((line) => line.error !== null),
  );
  expect(held).toMatchObject({
    cidrs: 20,
    error:
      "the document shrank from 20 to 1 prefixes; held back until it has stayed so for a while",
  });
  await waitFor("the new list", () => (verifier.status()[0]?.cidrs === 1 ? true : undefined));
  expect(known(verifier, bot, "198.51.100.1")).toBe("verified");
});

test("a document that still has its ETag is not read again, and is fresh again", async () => {
  const server = await serve((request, response) => {
    if (request.headers["if-none-match"] === '"one"') response.writeHead(304).end();
    else prefixes("203.0.113.0/28")(request, response.setHeader("etag", '"one"'));
  });
  const bot = botWith(ranges([server.url], { refreshMs: 300 }));
  const verifier = await openReady(bot);
  const before = verifier.status()[0]?.fetched_at;
  await waitFor("a refresh", () => (server.requests.length > 2 ? true : undefined));
  expect(verifier.status()[0]).toMatchObject({ cidrs: 1, error: null });
  expect(verifier.status()[0]?.fetched_at).not.toBe(before);
});

test("of several addresses of one list the ones that work are enough", async () => {
  const server = await serve(prefixes("203.0.113.0/28"));
  const moved = await serve((_request, response) => {
    response.writeHead(301, { location: server.url }).end();
  });
  const bot = botWith(ranges(["http://127.0.0.1:9/gone.json", moved.url]));
  const verifier = await openReady(bot);
  expect(known(verifier, bot, GOOD)).toBe("verified");
});

test("requests never fetch: a failed source is tried again by its own clock alone", async () => {
  const server = await serve(body("", 503));
  const bot = botWith(ranges([server.url]));
  const verifier = await openReady(bot);
  for (let count = 0; count < 100; count++)
    await verifier.prove(bot, requestFrom(GOOD), Date.now());
  expect(server.requests).toHaveLength(1);
});

test("a restart without the source uses the list on disk, with its age", async () => {
  const server = await serve(prefixes("203.0.113.0/28"));
  const bot = botWith(ranges([server.url]));
  const first = await openReady(bot);
  const [before] = first.status();
  await waitFor("the list on disk", async () =>
    (await readdir(join(dataDir, "lists")).catch(() => [])).some((file) => file.endsWith(".json"))
      ? true
      : undefined,
  );
  first.close();
  server.answer(body("", 500));
  const second = await openReady(bot);
  expect(known(second, bot, GOOD)).toBe("verified");
  expect(second.status()).toEqual([before]);
  expect(server.requests).toHaveLength(1);
});

test.each([
  ["torn", (text: string) => text.slice(0, -10)],
  ["of another version", (text: string) => text.replace("list/v1", "list/v9")],
  ["with an age in the future", (text: string) => text.replace(/"20\d\d-/, '"2999-')],
  ["that verifies everybody", (text: string) => text.replace("203.0.113.0/28", "0.0.0.0/0")],
])("a file on disk that is %s is as good as none", async (_what, harm) => {
  const server = await serve(prefixes("203.0.113.0/28"));
  const bot = botWith(ranges([server.url]));
  (await openReady(bot)).close();
  const folder = join(dataDir, "lists");
  for (const file of await readdir(folder)) {
    const path = join(folder, file);
    await writeFile(path, harm(await readFile(path, "utf8")));
  }
  await openReady(bot);
  expect(server.requests).toHaveLength(2);
});

test("a password in a source's URL is sent, and is in no log, status, evidence or file", async () => {
  const server = await serve((request, response) => {
    if (request.headers.authorization === undefined) response.writeHead(401).end();
    else prefixes("203.0.113.0/28")(request, response);
  });
  const bot = botWith(ranges([server.url.replace("http://", "http://user:s3cret@")]));
  const verifier = await openReady(bot);
  const check = verifier.check(bot, requestFrom(GOOD), Date.now());
  const [file = ""] = await readdir(join(dataDir, "lists"));
  const kept = await readFile(join(dataDir, "lists", file), "utf8");
  const told = JSON.stringify([check, verifier.status(), logged, kept]);
  expect(told).toContain("verified");
  expect(told).not.toContain("s3cret");
});

test("a list that cannot be kept on disk is used all the same, and the log says so", async () => {
  await writeFile(join(dataDir, "lists"), "in the way");
  const server = await serve(prefixes("203.0.113.0/28"));
  const bot = botWith(ranges([server.url]));
  const verifier = await openReady(bot);
  expect(known(verifier, bot, GOOD)).toBe("verified");
  expect(logged.join("\n")).toContain("address list not kept on disk");
});

test("a file source is read beside the policy, and again when it changes", async () => {
  const path = join(dataDir, "sources", "own.txt");
  await mkdir(join(dataDir, "sources"));
  await writeFile(path, "203.0.113.0/28\n");
  const bot = botWith(
    ranges([{ kind: "file", file: "sources/own.txt", format: "text", pointer: undefined }]),
  );
  const verifier = openVerifier({
    dataDir,
    dnsServers: undefined,
    timeoutMs: 500,
    allowInsecureSources: false,
  });
  opened.push({ stop: () => verifier.close() });
  verifier.configure([{ ...policyWith(bot), file: join(dataDir, "site.yaml") }]);
  await verifier.ready();
  expect(known(verifier, bot, GOOD)).toBe("verified");
  expect(verifier.status()).toMatchObject([
    { source: "sources/own.txt", state: "fresh", cidrs: 1 },
  ]);
  await writeFile(path, "198.51.100.0/28\n2001:db8::/64\n");
  await waitFor("the change", () => (verifier.status()[0]?.cidrs === 2 ? true : undefined));
  expect(known(verifier, bot, GOOD)).toBe("refuted");
});

test("a missing file is a failed source with its path", async () => {
  const bot = botWith(
    ranges([{ kind: "file", file: "missing.txt", format: "text", pointer: undefined }]),
  );
  const verifier = await openReady(bot);
  expect(verifier.status()).toMatchObject([
    { source: "missing.txt", state: "failed", error: expect.stringContaining("missing.txt") },
  ]);
});

test("a reload keeps the list of an unchanged source and asks nobody", async () => {
  const server = await serve(prefixes("203.0.113.0/28"));
  const verifier = await openReady(botWith(ranges([server.url])));
  const again = botWith(ranges([server.url]));
  verifier.configure([policyWith(again)]);
  expect(known(verifier, again, GOOD)).toBe("verified");
  expect(server.requests).toHaveLength(1);
});

test("a request that began before a reload ends with the lists that it began with", async () => {
  const server = await serve(prefixes("203.0.113.0/28"));
  const before = botWith(ranges([server.url]));
  const verifier = await openReady(before);
  verifier.configure([policyWith()]);
  expect(known(verifier, before, GOOD)).toBe("verified");
  expect(verifier.status()).toEqual([]);
});

test("a source that no policy names any more is not refreshed", async () => {
  const server = await serve(prefixes("203.0.113.0/28"));
  const verifier = await openReady(botWith(ranges([server.url], { refreshMs: 200 })));
  verifier.configure([policyWith()]);
  const asked = server.requests.length;
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(server.requests).toHaveLength(asked);
});

test("ready waits for every list, tried once", async () => {
  const slow = await serve((_request, response) => {
    setTimeout(() => response.end(JSON.stringify({ prefixes: [{ ipv4Prefix: GOOD }] })), 300);
  });
  const bot = botWith(ranges([slow.url]));
  const verifier = await openReady(bot);
  expect(known(verifier, bot, GOOD)).toBe("verified");
});

test("status names each bot and source as the contract does", async () => {
  const server = await serve(prefixes("203.0.113.0/28", "203.0.113.64/28"));
  const verifier = await openReady(
    botWith(ranges([server.url], { staleAction: "use_stale", maxStaleMs: 24 * HOUR }), reverse),
  );
  expect(verifier.status()).toEqual([
    {
      bot_id: "examplebot",
      type: "ip_ranges",
      source: server.url,
      state: "fresh",
      cidrs: 2,
      fetched_at: expect.stringMatching(/^20\d\d-.*Z$/),
      expires_at: expect.stringMatching(/^20\d\d-.*Z$/),
      stale_action: "use_stale",
      max_stale: "1d",
      error: null,
    },
    expect.objectContaining({ type: "reverse_dns", source: null, state: "not_applicable" }),
  ]);
});

test("bot.by_ip names every bot whose lists hold the address, whoever it says it is", async () => {
  const server = await serve(prefixes("203.0.113.0/28"));
  const listed = botWith(ranges([server.url]));
  const fixed: Bot = { ...botWith(statics), id: "fixed" };
  const other: Bot = { ...botWith(reverse), id: "other" };
  const verifier = open([]);
  const policy = policyWith(listed, fixed, other);
  verifier.configure([policy]);
  await verifier.ready();
  const byIp = (ip: string, nowMs = Date.now()): readonly string[] =>
    verifier.botsByIp(policy, requestFrom(ip), nowMs);
  expect(byIp(GOOD)).toEqual(["examplebot", "fixed"]);
  expect(byIp("127.0.0.2")).toEqual(["fixed"]);
  expect(byIp("198.51.100.1")).toEqual([]);
  expect(byIp("")).toEqual([]);
  expect(byIp(GOOD, Date.now() + 2 * HOUR)).toEqual(["fixed"]);
});
