import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Fastify from "fastify";
import { afterEach, beforeEach, expect, test } from "vitest";
import { listen } from "../../src/server/listen.ts";

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "crawlwall-listen-"));
  path = join(folder, "socket");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a socket is for its owner and group alone, and gone after the end", async () => {
  const listening = await listen(Fastify(), { kind: "unix", path });
  expect(statSync(path).mode & 0o777).toBe(0o660);
  await listening.drain();
  expect(existsSync(path)).toBe(false);
});

test("a socket that somebody answers on is left alone", async () => {
  const server = net.createServer().listen(path);
  await new Promise((resolve) => server.once("listening", resolve));
  await expect(listen(Fastify(), { kind: "unix", path })).rejects.toThrow("in use");
  server.close();
});

test("a file that is no socket is never removed", async () => {
  writeFileSync(path, "precious");
  await expect(listen(Fastify(), { kind: "unix", path })).rejects.toThrow("is no socket");
  expect(readFileSync(path, "utf8")).toBe("precious");
});
