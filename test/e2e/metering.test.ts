import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { Agent, createServer, get, type IncomingHttpHeaders } from "node:http";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningCaddy, startCaddy } from "../support/caddy.ts";
import { portOf } from "../support/free-port.ts";
import { findPythonJose, type PythonJose } from "../support/jose-in-python.ts";
import { newCaddy, oldCaddy, root } from "../support/programs.ts";
import { type Sidecar, startSidecar } from "../support/sidecar.ts";

/** Long by `CRAWLWALL_METERED_REQUESTS=10000`. */
const REQUESTS = Number(process.env.CRAWLWALL_METERED_REQUESTS ?? 1000);

/** On a busy machine. */
const LONG = 60_000 + REQUESTS * 60;

const policies = {
  "site.yaml": `
site: {id: paid, host: site.test, mode: enforce}
bots:
  - id: demobot
    name: Demo crawler
    class: ai_training
    operator: Demo, Inc.
    match: {user_agents: [demobot]}
    verify: {type: static_ranges, cidrs: [127.0.0.2/32]}
rules:
  - id: meter_archive
    priority: 10
    when: bot.verified && pathUnder(request.path, "/archive")
    action: {type: allow_metered, price: {amount: 0.002, currency: USD, unit: request}}
    audit: {receipt: true, tags: [metered]}
  - id: ask_for_payment
    priority: 20
    when: pathUnder(request.path, "/archive")
    action:
      type: block
      status: 402
      reason: payment_required
      price: {amount: 0.30, currency: USD}
      terms: https://site.test/terms
    audit: {receipt: true}
`,
};

/** What the application does, by the second part of the path, and what that comes to. */
const KINDS = [
  { kind: "ok", status: 200, state: "settled" },
  { kind: "created", status: 201, state: "settled" },
  { kind: "gone", status: 404, state: "void" },
  { kind: "broken", status: 500, state: "void" },
  { kind: "dead", status: 503, state: "void" },
  { kind: "same", status: 304, state: "void" },
] as const;

interface Exchange {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const python: PythonJose | undefined = findPythonJose();

describe.each([oldCaddy, newCaddy])("metered requests behind $name", (caddy) => {
  let sidecar: Sidecar;
  let proxy: RunningCaddy;
  let log: string;
  const receipts = new Map<string, string>();
  const backend = createServer((request, response) => {
    const { url = "", headers } = request;
    receipts.set(url, String(headers["x-crawlwall-receipt"]));
    const kind = url.split("/")[2];
    if (kind === "dead") return request.socket.destroy();
    const status = KINDS.find((one) => one.kind === kind)?.status ?? 200;
    response.writeHead(status, { "Crawlwall-Receipt": "of-the-application" });
    return response.end(status === 304 ? undefined : "0123456789");
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });

  const ask = (path: string, userAgent = "demobot/1.0"): Promise<Exchange> =>
    new Promise((resolve, reject) => {
      const headers = { Host: "site.test", "User-Agent": userAgent };
      const options = { host: "127.0.0.1", port: proxy.port, path, agent, headers };
      get({ ...options, localAddress: "127.0.0.2" }, async (answer) => {
        const chunks: Buffer[] = await answer.toArray();
        const body = Buffer.concat(chunks).toString();
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body });
      }).once("error", reject);
    });

  const crawlwall = (...args: readonly string[]): { status: number | null; stdout: string } => {
    const flags = [...args, ...(args[0] === "ledger" ? ["--data-dir", dataDir()] : [])];
    const run = spawnSync(process.execPath, [`${root}bin/crawlwall.js`, ...flags], {
      encoding: "utf8",
      maxBuffer: 256 * 1024 * 1024,
    });
    return { status: run.status, stdout: run.stdout };
  };
  const dataDir = (): string => join(sidecar.folder, "data");
  const exported = (): string => crawlwall("ledger", "export").stdout;

  beforeAll(async () => {
    backend.listen(0, "127.0.0.1");
    await once(backend, "listening");
    sidecar = await startSidecar({ policies });
    log = join(sidecar.folder, "access.log");
    proxy = await startCaddy({
      caddy,
      sidecar: sidecar.dial,
      backend: portOf(backend),
      hosts: ["site.test"],
      env: {
        CRAWLWALL_RECEIPTS: "on",
        CRAWLWALL_ACCESS_LOG: "json",
        CRAWLWALL_ACCESS_LOG_TO: `file ${log}`,
      },
    });
  });
  afterAll(async () => {
    agent.destroy();
    await proxy.stop();
    await sidecar.stop();
    backend.close();
    backend.closeAllConnections();
  });

  it("hands the receipt to the application and to the crawler, and none where none is due", async () => {
    const paid = await ask("/archive/ok/first");
    const free = await ask("/welcome");
    expect(paid.status).toBe(200);
    expect(paid.headers["crawlwall-receipt"]).toBe(receipts.get("/archive/ok/first"));
    expect(receipts.get("/archive/ok/first")).toMatch(/^ey[\w-]+\.[\w-]+\.[\w-]+$/);
    expect(receipts.get("/welcome")).toBe("none");
    expect(free.headers["crawlwall-receipt"]).toBeUndefined();
  });

  it("answers a crawler without an agreement with price and terms, and no receipt", async () => {
    const refused = await ask("/archive/ok/unpaid", "curl/8.0");
    expect(refused.status).toBe(402);
    expect(refused.headers).toMatchObject({
      "crawler-price": "USD 0.30",
      link: '<https://site.test/terms>; rel="license"',
    });
    expect(refused.headers["crawlwall-receipt"]).toBeUndefined();
    expect(receipts.has("/archive/ok/unpaid")).toBe(false);
  });

  it("publishes the keys on the site, at that exact target alone", async () => {
    const answer = await ask("/.well-known/crawlwall/jwks.json");
    const { keys } = JSON.parse(answer.body);
    expect(answer.headers["content-type"]).toMatch(/^application\/jwk-set\+json/);
    expect(keys).toEqual([
      expect.objectContaining({ kty: "OKP", crv: "Ed25519", alg: "EdDSA", use: "sig" }),
    ]);
    expect(Object.keys(keys[0]).sort()).toEqual(["alg", "crv", "kid", "kty", "use", "x"]);
    expect((await ask("/.well-known/crawlwall/jwks.json?x=1")).body).toBe("0123456789");
    expect((await ask("/.well-known/crawlwall//jwks.json")).body).toBe("0123456789");
  });

  it(
    "settles every request of a run with failing upstreams to exactly the right state",
    async () => {
      const jwks = (await ask("/.well-known/crawlwall/jwks.json")).body;
      const paths = Array.from({ length: REQUESTS }, (_, index) => {
        const { kind } = KINDS[index % KINDS.length] ?? KINDS[0];
        return `/archive/${kind}/${index}`;
      });
      const statuses = new Map<string, number>();
      const queue = [...paths];
      const walk = async (): Promise<void> => {
        for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
          statuses.set(path, (await ask(path)).status);
        }
      };
      await Promise.all(Array.from({ length: 16 }, walk));
      for (const { kind, status } of KINDS) {
        const seen = paths
          .filter((path) => path.split("/")[2] === kind)
          .map((p) => statuses.get(p));
        expect(new Set(seen), kind).toEqual(new Set([status]));
      }
      await proxy.stop();
      await sidecar.process().stop();
      writeFileSync(join(sidecar.folder, "jwks.json"), jwks);
      rotate(log);

      const expected = countKinds(paths);
      // The first test's request is one more that was paid for.
      const first = crawlwall("ledger", "settle", "--log", log, "--json");
      expect(JSON.parse(first.stdout)).toMatchObject({
        files: 2,
        unreadable: 0,
        settled: expected.settled + 1,
        void: expected.void,
        unmatched: 0,
        known: 0,
      });
      const again = crawlwall("ledger", "settle", "--log", log, "--json");
      expect(JSON.parse(again.stdout)).toMatchObject({
        settled: 0,
        void: 0,
        unmatched: 0,
        known: REQUESTS + 1,
      });

      const report = crawlwall("ledger", "report", "--metered", "--json");
      expect(JSON.parse(report.stdout).totals).toEqual([
        {
          currency: "USD",
          held: { requests: 0, amount: "0" },
          settled: {
            requests: expected.settled + 1,
            amount: thousandths(2 * (expected.settled + 1)),
          },
          void: { requests: expected.void, amount: thousandths(2 * expected.void) },
          unmatched: { requests: 0, amount: "0" },
        },
      ]);
      expectInvoice(crawlwall("ledger", "report", "--metered", "--csv").stdout, statuses);
    },
    LONG,
  );

  it("lets every receipt of the export be verified, and tells what was edited", {
    timeout: LONG,
  }, () => {
    const file = join(sidecar.folder, "events.jsonl");
    const keys = ["--jwks", join(sidecar.folder, "jwks.json")];
    const lines = exported();
    writeFileSync(file, lines);
    const fine = crawlwall("receipts", "verify", "--file", file, ...keys, "--json");
    // Each metered request, and the refusal: signed behind its answer, and kept.
    expect(JSON.parse(fine.stdout)).toMatchObject({ valid: REQUESTS + 2, invalid: 0 });
    expect(fine.status).toBe(0);

    writeFileSync(file, lines.replace('"price_amount":"0.002"', '"price_amount":"0.001"'));
    const edited = crawlwall("receipts", "verify", "--file", file, ...keys);
    expect(edited.status).toBe(1);
    expect(edited.stdout).toContain("edited: the event was edited: `price_amount` differs");
  });

  it.skipIf(python === undefined)(
    "lets PyJWT verify a receipt, where it can be had",
    {
      timeout: LONG,
    },
    () => {
      const lines = exported().trim().split("\n");
      const jwks = readFileSync(join(sidecar.folder, "jwks.json"), "utf8");
      const event = JSON.parse(lines.findLast((line) => line.includes('"receipt":"')) ?? "");
      const verdict = python?.(jwks, event.receipt, event);
      expect(verdict?.header).toEqual({
        alg: "EdDSA",
        typ: "crawlwall-receipt+jwt",
        kid: verdict?.thumbprint,
      });
      expect(verdict?.claims).toMatchObject({
        iss: "paid",
        jti: event.id,
        sub: event.bot_id,
        path: event.path,
        event_digest: verdict?.digest,
      });
      const forged = event.receipt.replace(/\.[\w-]{4}/, ".eyJ4");
      expect(() => python?.(jwks, forged, event)).toThrow("Signature verification failed");
    },
  );
});

/** As Caddy rotates: the older half compressed, a line that is still being written at the end. */
function rotate(log: string): void {
  const lines = readFileSync(log, "utf8").trimEnd().split("\n");
  const middle = lines.length >> 1;
  const older = log.replace(/\.log$/, "-2026-01-02T03-04-05.678.log.gz");
  writeFileSync(older, gzipSync(`${lines.slice(0, middle).join("\n")}\n`));
  const newest = lines.at(-1) ?? "";
  const newer = `${lines.slice(middle).join("\n")}\n${newest.slice(0, newest.length >> 1)}`;
  writeFileSync(log, newer);
}

function countKinds(paths: readonly string[]): { readonly settled: number; readonly void: number } {
  const states = paths.map(
    (path) => KINDS.find(({ kind }) => kind === path.split("/")[2])?.state ?? "held",
  );
  const settled = states.filter((state) => state === "settled").length;
  return { settled, void: states.length - settled };
}

/** A number of thousandths as a decimal, by integers alone. */
function thousandths(count: number): string {
  return `${Math.floor(count / 1000)}.${String(count % 1000).padStart(3, "0")}`;
}

function expectInvoice(csv: string, statuses: ReadonlyMap<string, number>): void {
  const [header = "", ...rows] = csv.trimEnd().split("\r\n");
  const names = header.split(",");
  const cell = (row: readonly string[], name: string): string => row[names.indexOf(name)] ?? "";
  // The one quoted cell, the operator's name, is written so that splitting at commas works.
  const cells = rows.map((row) => row.replace('"Demo, Inc."', "Demo").split(","));
  const wrong = cells.filter((row) => {
    const status = statuses.get(cell(row, "path")) ?? 200;
    const state = KINDS.find((kind) => kind.status === status)?.state;
    return (
      cell(row, "state") !== state ||
      cell(row, "upstream_status") !== String(status) ||
      cell(row, "receipt_id") !== cell(row, "event_id")
    );
  });
  expect(wrong).toEqual([]);
  expect(cells).toHaveLength(statuses.size + 1);
}
