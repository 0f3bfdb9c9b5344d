import { afterAll, beforeAll, expect, test } from "vitest";
import { type ListServer, startListServer } from "../io/verify/support/list-server.ts";
import { type NameServer, startScripted } from "../io/verify/support/name-server.ts";
import { type Sidecar, startSidecar } from "../support/sidecar.ts";
import { PERSON } from "../support/wall.ts";

const DEADLINE_MS = 500;

let tarpit: NameServer;
let drip: ListServer;
let silent: ListServer;
let sidecar: Sidecar;

beforeAll(async () => {
  tarpit = await startScripted(() => undefined);
  drip = await startListServer((_request, response) => {
    const timer = setInterval(() => response.write(" "), 1_000);
    response.on("close", () => clearInterval(timer));
  });
  silent = await startListServer(() => undefined);
  const bot = (name: string, verify: string): string => `
  - id: ${name.toLowerCase()}
    class: search
    match: {user_agents: [${name}]}
    verify: ${verify}`;
  const policy = `
site: {id: slow, host: "*", mode: enforce}
bots:${bot("ListBot", `{type: ip_ranges, sources: ["${drip.url}"]}`)}
${bot("NameBot", "{type: reverse_dns, allowed_suffixes: [.crawler.test]}")}
${bot("SignBot", `{type: web_bot_auth, directories: ["${new URL(silent.url).origin}"]}`)}
rules:
  - id: spoofed
    priority: 1
    when: bot.claimed && !bot.verified
    action: {type: block, status: 403, reason: spoofed}
`;
  sidecar = await startSidecar({
    policies: { "slow.yaml": policy },
    flags: ["--insecure-sources", "--dns-servers", tarpit.address],
  });
});

afterAll(async () => {
  await sidecar.stop();
  await Promise.all([tarpit.stop(), drip.stop(), silent.stop()]);
});

interface Timed {
  readonly status: number;
  readonly ms: number;
}

async function ask(
  ip: string,
  userAgent: string,
  more: Record<string, string> = {},
): Promise<Timed> {
  const began = performance.now();
  const answer = await fetch(`http://127.0.0.1:${sidecar.door}/authz/forward-auth`, {
    headers: {
      "user-agent": userAgent,
      "x-forwarded-method": "GET",
      "x-forwarded-uri": "/",
      "x-forwarded-host": "slow.test",
      "x-forwarded-proto": "https",
      "x-forwarded-for": ip,
      ...more,
    },
  });
  await answer.arrayBuffer();
  return { status: answer.status, ms: performance.now() - began };
}

function signedFor(origin: string): Record<string, string> {
  const now = Math.floor(Date.now() / 1_000);
  const parameters = `created=${now};expires=${now + 60};keyid="k";tag="web-bot-auth"`;
  return {
    "signature-agent": `s="${origin}"`,
    "signature-input": `s=("@authority" "signature-agent";key="s");${parameters}`,
    signature: "s=:AAAA:",
  };
}

test("a DNS that never answers, a directory that never answers and a list that drips delay nobody else", async () => {
  const origin = new URL(silent.url).origin;
  const stuck = Array.from({ length: 150 }, (_, index) => [
    ask(`2001:db8:${index}::1`, "NameBot/1.0"),
    ask(`2001:db8:${index}::1`, "SignBot/1.0", signedFor(origin)),
    ask(`2001:db8:${index}::1`, "ListBot/1.0"),
  ]).flat();
  const people: Timed[] = [];
  for (let count = 0; count < 50; count++) people.push(await ask("203.0.113.9", PERSON));
  const crawlers = await Promise.all(stuck);
  expect(new Set(people.map(({ status }) => status))).toEqual(new Set([200]));
  expect(new Set(crawlers.map(({ status }) => status))).toEqual(new Set([503]));
  // One who waited behind the stuck ones would wait for their whole deadline.
  const alone = people.slice(10).map(({ ms }) => ms);
  expect(alone.toSorted((left, right) => left - right)[20]).toBeLessThan(DEADLINE_MS / 2);
});
