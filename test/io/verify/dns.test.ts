import { setTimeout as sleep } from "node:timers/promises";
import type { Packet } from "dns-packet";
import { afterEach, expect, test } from "vitest";
import { openReverseDns, type ReverseDns } from "../../../src/io/verify/dns.ts";
import { waitFor } from "../../support/wait.ts";
import { type Script, type ScriptedServer, startScripted } from "./support/name-server.ts";

const SUFFIXES = [".crawler.test"];
const MINUTE = 60_000;

const opened: { close(): void | Promise<void> }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});

async function open(
  script: Script,
  timeoutMs = 2_000,
): Promise<{ dns: ReverseDns; server: ScriptedServer }> {
  const server = await startScripted(script);
  const dns = openReverseDns({ servers: [server.address], timeoutMs });
  opened.push({ close: () => dns.close() }, { close: () => server.stop() });
  return { dns, server };
}

async function pointer(name: string, target: string): Promise<Partial<Packet>> {
  return { answers: [{ type: "PTR", name, ttl: 60, data: target }] };
}

async function address(name: string, data: string, ttl = 60): Promise<Partial<Packet>> {
  return { answers: [{ type: "A", name, ttl, data }] };
}

const NXDOMAIN = 3;
const SERVFAIL = 2;

async function code(flags: number): Promise<Partial<Packet>> {
  return { flags };
}

/** Every address has the name that says it, and the name has the address. */
const honest: Script = (name, type) => {
  if (type === "PTR") {
    const ip = name.split(".").slice(0, 4).reverse().join("-");
    return pointer(name, `a-${ip}.crawler.test`);
  }
  return address(name, (name.split(".")[0] ?? "").slice(2).replaceAll("-", "."), 7_200);
};

test("a proved address is not asked again until its record's time is over", async () => {
  const { dns, server } = await open(honest);
  expect((await dns.prove("203.0.113.1", SUFFIXES, 0)).verification).toBe("verified");
  expect(dns.known("203.0.113.1", SUFFIXES, 119 * MINUTE)?.verification).toBe("verified");
  expect(dns.known("203.0.113.1", SUFFIXES, 121 * MINUTE)).toBeUndefined();
  expect(server.asked).toHaveLength(2);
});

test("a record that lives for seconds is believed for five minutes", async () => {
  const { dns } = await open((name, type) =>
    type === "PTR" ? pointer(name, "one.crawler.test") : address(name, "203.0.113.1", 1),
  );
  await dns.prove("203.0.113.1", SUFFIXES, 0);
  expect(dns.known("203.0.113.1", SUFFIXES, 4 * MINUTE)?.verification).toBe("verified");
  expect(dns.known("203.0.113.1", SUFFIXES, 6 * MINUTE)).toBeUndefined();
});

test("a missing PTR is kept as a no for five minutes", async () => {
  const { dns, server } = await open(() => code(NXDOMAIN));
  await dns.prove("203.0.113.1", SUFFIXES, 0);
  await dns.prove("203.0.113.1", SUFFIXES, 4 * MINUTE);
  expect(server.asked).toHaveLength(1);
  await dns.prove("203.0.113.1", SUFFIXES, 6 * MINUTE);
  expect(server.asked).toHaveLength(2);
});

test("a failure is kept for half a minute", async () => {
  const { dns } = await open(() => code(SERVFAIL));
  await dns.prove("203.0.113.1", SUFFIXES, 0);
  expect(dns.known("203.0.113.1", SUFFIXES, 29_000)?.verification).toBe("unavailable");
  expect(dns.known("203.0.113.1", SUFFIXES, 31_000)).toBeUndefined();
});

test("fifty requests from one address ask once", async () => {
  const { dns, server } = await open(honest);
  const proofs = await Promise.all(
    Array.from({ length: 50 }, () => dns.prove("203.0.113.1", SUFFIXES, 0)),
  );
  expect(new Set(proofs.map((proof) => proof.verification))).toEqual(new Set(["verified"]));
  expect(server.asked.filter((question) => question.startsWith("PTR"))).toHaveLength(1);
});

test("hundreds of names below the suffix cost eight questions", async () => {
  const { dns, server } = await open((name, type) => {
    if (type !== "PTR") return code(NXDOMAIN);
    const data = Array.from({ length: 20 }, (_, index) => `n${index}.crawler.test`);
    return Promise.resolve({
      answers: data.map((target) => ({ type: "PTR" as const, name, ttl: 60, data: target })),
    });
  });
  expect((await dns.prove("203.0.113.1", SUFFIXES, 0)).verification).toBe("refuted");
  expect(server.asked.filter((question) => question.startsWith("A "))).toHaveLength(8);
});

test("a silent server costs a request its own deadline and no more", async () => {
  const { dns } = await open(() => undefined, 200);
  const began = performance.now();
  const proof = await dns.prove("203.0.113.1", SUFFIXES, 0);
  expect(proof.verification).toBe("unavailable");
  expect(proof.cause).toBe("reverse DNS of 203.0.113.1: no answer in 200 ms");
  expect(performance.now() - began).toBeLessThan(3_000);
});

test("an answer that comes too late for its request serves the next one", async () => {
  const { dns } = await open(async (name, type) => {
    await sleep(300);
    return (await honest(name, type)) ?? {};
  }, 100);
  expect((await dns.prove("203.0.113.1", SUFFIXES, 0)).verification).toBe("unavailable");
  const late = await waitFor("the late answer", () => dns.known("203.0.113.1", SUFFIXES, 0));
  expect(late.verification).toBe("verified");
});

test("a request that joins a lookup waits only for what is left of its time", async () => {
  const { dns } = await open(() => undefined, 2_000);
  void dns.prove("203.0.113.1", SUFFIXES, 0);
  await sleep(2_000);
  const began = performance.now();
  expect((await dns.prove("203.0.113.1", SUFFIXES, 0)).verification).toBe("unavailable");
  expect(performance.now() - began).toBeLessThan(1_000);
});

/** Silent for 198.18.0.0/15, honest for the rest of the world. */
const tarpit: Script = (name, type) =>
  /\.1[89]\.198\.in-addr\.arpa$/.test(name) ? undefined : honest(name, type);

test("a reverse zone that never answers holds four places and delays nobody else", async () => {
  const { dns } = await open(tarpit, 3_000);
  const stuck = Array.from({ length: 100 }, (_, index) =>
    dns.prove(`198.18.0.${index}`, SUFFIXES, 0),
  );
  expect(dns.counts()).toMatchObject({ inFlight: 4, refusedBusy: 96 });
  const began = performance.now();
  expect((await dns.prove("203.0.113.1", SUFFIXES, 0)).verification).toBe("verified");
  expect(performance.now() - began).toBeLessThan(2_000);
  const outcomes = (await Promise.all(stuck)).map((proof) => proof.verification);
  expect(new Set(outcomes)).toEqual(new Set(["unavailable"]));
});

test("lookups for which nobody waits any more give their place to the next request", async () => {
  const { dns } = await open(tarpit, 100);
  const stuck = Array.from({ length: 64 }, (_, index) =>
    dns.prove(`198.18.${index}.1`, SUFFIXES, 0),
  );
  expect(dns.counts().inFlight).toBe(32);
  await Promise.all(stuck);
  expect(dns.counts().inFlight).toBe(32);
  expect((await dns.prove("203.0.113.1", SUFFIXES, 0)).verification).toBe("verified");
});

test("while every place is waited for, the next check is told at once", async () => {
  const { dns } = await open(tarpit, 3_000);
  for (let index = 0; index < 32; index++) void dns.prove(`198.18.${index}.1`, SUFFIXES, 0);
  const began = performance.now();
  const proof = await dns.prove("203.0.113.1", SUFFIXES, 0);
  expect(proof.cause).toBe("reverse DNS of 203.0.113.1: too many lookups at once");
  expect(performance.now() - began).toBeLessThan(2_000);
});

test("a flood of addresses that prove nothing pushes out nobody who did", async () => {
  const { dns } = await open((name, type) =>
    /\.18\.198\.in-addr\.arpa$/.test(name) ? code(NXDOMAIN) : honest(name, type),
  );
  await dns.prove("203.0.113.1", SUFFIXES, 0);
  for (let round = 0; round < 550; round++) {
    const batch = Array.from({ length: 32 }, (_, index) =>
      dns.prove(`198.18.${(round >> 8) * 32 + index}.${round & 255}`, SUFFIXES, 0),
    );
    await Promise.all(batch);
  }
  expect(dns.counts()).toMatchObject({ cached: 16_384 + 1, refusedBusy: 0 });
  expect(dns.known("203.0.113.1", SUFFIXES, 0)?.verification).toBe("verified");
});

test("a server that is no address is refused when the verifier opens", () => {
  expect(() => openReverseDns({ servers: ["resolver"], timeoutMs: 500 })).toThrow();
});
