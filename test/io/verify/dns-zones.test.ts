import { afterAll, beforeAll, expect, test } from "vitest";
import { openReverseDns, type ReverseDns } from "../../../src/io/verify/dns.ts";
import { type NameServer, startNsd } from "./support/name-server.ts";

const HEAD = "$TTL 3600\n@ IN SOA ns.test. admin.test. 1 3600 600 86400 60\n@ IN NS ns.test.\n";

function many(count: number, line: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => line(index)).join("\n");
}

const ZONES = {
  "113.0.203.in-addr.arpa": `${HEAD}
1 PTR good.crawler.test.
3 TXT "no name here"
4 PTR host.other.test.
4 PTR several.crawler.test.
5 PTR good.crawler.test.
6 PTR only6.crawler.test.
7 PTR UPPER.CRAWLER.TEST.
8 PTR evilcrawler.test.
8 PTR good.crawler.test.other.test.
9 PTR name.broken.test.
10 PTR name.broken.test.
10 PTR second.crawler.test.
${many(300, (index) => `11 PTR n${index}.crawler.test.`)}
${many(300, (index) => `12 PTR n${index}.other.test.`)}
12 PTR crowd.crawler.test.
13 CNAME 13.customer.test.
14 PTR dotted\\.crawler.test.
15 PTR crawler.test.
`,
  "customer.test": `${HEAD}13 PTR alias.crawler.test.\n`,
  "crawler.test": `${HEAD}
@ A 203.0.113.15
good A 203.0.113.1
several A 198.51.100.77
several A 203.0.113.4
only6 AAAA 2001:db8::6
upper A 203.0.113.7
second A 203.0.113.10
crowd A 203.0.113.12
alias CNAME real
real A 203.0.113.13
six AAAA 2001:db8::1
six A 198.51.100.9
only4 A 203.0.113.66
`,
  "other.test": `${HEAD}`,
  "0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa": `${HEAD}
1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0 PTR six.crawler.test.
2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0 PTR only4.crawler.test.
`,
  "broken.test": "this is no zone file\n",
  "100.51.198.in-addr.arpa": "neither is this\n",
};

let server: NameServer;
let dns: ReverseDns;

beforeAll(async () => {
  server = await startNsd(ZONES);
  dns = openReverseDns({ servers: [server.address], timeoutMs: 5_000 });
});

afterAll(async () => {
  dns.close();
  await server.stop();
});

const SUFFIXES = [".crawler.test", ".broken.test"];

test.each([
  ["a name that points back", "203.0.113.1", "verified"],
  ["no PTR record", "203.0.113.2", "refuted"],
  ["a reverse name with other records alone", "203.0.113.3", "refuted"],
  ["several PTRs of which one is the crawler's", "203.0.113.4", "verified"],
  ["a name that points elsewhere", "203.0.113.5", "refuted"],
  ["a name with an AAAA record alone, asked for IPv4", "203.0.113.6", "refuted"],
  ["a PTR in upper case", "203.0.113.7", "verified"],
  ["names that only look like the suffix", "203.0.113.8", "refuted"],
  ["a name whose zone answers SERVFAIL", "203.0.113.9", "unavailable"],
  ["a broken name before a good one", "203.0.113.10", "verified"],
  ["hundreds of names below the suffix, none real", "203.0.113.11", "refuted"],
  ["hundreds of foreign names and a good one", "203.0.113.12", "verified"],
  ["a reverse zone delegated by CNAME, and a CNAME forward", "203.0.113.13", "verified"],
  ["a dot hidden inside a label", "203.0.113.14", "refuted"],
  ["the suffix's own domain", "203.0.113.15", "verified"],
  ["IPv6 with its AAAA beside an unrelated A", "2001:db8::1", "verified"],
  ["IPv6 whose name has an A record alone", "2001:db8::2", "refuted"],
  ["a reverse zone that answers SERVFAIL", "198.51.100.1", "unavailable"],
])("%s", async (_what, ip, expected) => {
  const proof = await dns.prove(ip, SUFFIXES, 0);
  expect(proof.verification).toBe(expected);
});

test("the evidence names the record and the address that proved it", async () => {
  const proof = await dns.prove("203.0.113.4", SUFFIXES, 0);
  expect(proof.evidence).toEqual({
    reverse_dns: { ptr: "several.crawler.test", address: "203.0.113.4" },
  });
});

test("an outage says which name could not be asked", async () => {
  const proof = await dns.prove("203.0.113.9", SUFFIXES, 0);
  expect(proof.cause).toBe("address of name.broken.test: ESERVFAIL");
});
