import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type AccessRead, logFiles, readAccessLog } from "../../src/io/access-log.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "crawlwall-access-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** As Caddy 2.11 writes it, shortened. */
function lineOf(id: string, more: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({
    level: "info",
    ts: 1796061600.1234567,
    logger: "http.log.access.log0",
    msg: "handled request",
    request: { method: "GET", host: "Site.Test:8080", uri: "/archive/a" },
    duration: 0.0023,
    size: 4096,
    status: 200,
    resp_headers: { "Crawlwall-Request-Id": [id], Server: ["Caddy"] },
    ...more,
  });
}

async function readAll(name: string, content: string | Buffer): Promise<readonly AccessRead[]> {
  const file = join(folder, name);
  writeFileSync(file, content);
  const reads: AccessRead[] = [];
  for await (const read of readAccessLog(file)) reads.push(read);
  return reads;
}

const ANSWER = {
  kind: "answer",
  line: {
    requestId: "a",
    host: "site.test",
    status: 200,
    bytes: 4096,
    atMs: 1_796_061_600_123,
  },
};

describe("Caddy's access log", () => {
  test("tells status, bytes, host and time of each answer", async () => {
    expect(await readAll("access.log", `${lineOf("a")}\n`)).toEqual([ANSWER]);
  });

  test.each([
    ["plain", (text: string) => text],
    ["gzip", (text: string) => gzipSync(text)],
    ["zstd", (text: string) => zstdCompressSync(text)],
  ])("is read whatever its name says: %s", async (_, pack) => {
    const reads = await readAll("access", pack(`${lineOf("a")}\n${lineOf("b")}\n`));
    expect(reads.map(({ kind }) => kind)).toEqual(["answer", "answer"]);
  });

  test("may end in a line that is still being written", async () => {
    const whole = lineOf("b");
    for (const length of [1, 50, whole.length - 1]) {
      const reads = await readAll("access.log", `${lineOf("a")}\n${whole.slice(0, length)}`);
      expect(reads.map(({ kind }) => kind)).toEqual(["answer", "partial"]);
    }
    const complete = await readAll("access.log", `${lineOf("a")}\n${whole}`);
    expect(complete.map(({ kind }) => kind)).toEqual(["answer", "answer"]);
  });

  test("may be a compressed file that was cut off", async () => {
    const lines = Array.from({ length: 2000 }, (_, index) => lineOf(`${index}-${Math.random()}`));
    const packed = gzipSync(lines.join("\n"));
    const reads = await readAll("access.log.gz", packed.subarray(0, packed.length >> 1));
    expect(reads.filter(({ kind }) => kind === "answer").length).toBeGreaterThan(100);
  });

  test("may hold lines that are no answers of ours, and some that are broken", async () => {
    const lines = [
      lineOf("a"),
      '{"level":"error","msg":"dial tcp"}',
      lineOf("x", { resp_headers: {} }),
      lineOf("x", { status: "200" }),
      '{"level":"in',
      "[]",
      "",
      lineOf("b"),
    ];
    const reads = await readAll("access.log", `${lines.join("\n")}\n`);
    expect(reads.map(({ kind }) => kind).join(" ")).toBe(
      "answer other other other unreadable other other answer",
    );
  });

  test.each([
    ["2026-11-30T18:00:00.500Z", 1_796_061_600_500],
    ["soon", undefined],
    [undefined, undefined],
  ])("may write its time as %j", async (ts, atMs) => {
    const [read] = await readAll("access.log", `${lineOf("a", { ts })}\n`);
    expect(read).toMatchObject({ kind: "answer", line: { requestId: "a" } });
    expect(read?.kind === "answer" && read.line.atMs).toBe(atMs);
  });

  test("that is not there is an error", async () => {
    const read = readAccessLog(join(folder, "nowhere.log")).next();
    await expect(read).rejects.toThrow("ENOENT");
  });

  test("is read with the files that were rotated away, oldest first, and no others", () => {
    const names = [
      "access-2026-11-29T00-00-00.000.log.gz",
      "access-2026-11-30T00-00-00.000-size.log",
      "access.log.2.gz",
      "access.log.1",
    ];
    const others = ["access-notes.log", "access.log.bak", "other.log", "error-2026-11-29T0.log"];
    for (const [index, name] of [...names, ...others, "access.log"].entries()) {
      writeFileSync(join(folder, name), "");
      utimesSync(join(folder, name), 1000 + index, 1000 + index);
    }
    const found = logFiles(join(folder, "access.log")).map((file) => basename(file));
    expect(found).toEqual([...names, "access.log"]);
  });
});
