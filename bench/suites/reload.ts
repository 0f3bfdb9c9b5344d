import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { completeLoading } from "../../src/load/loaded.ts";
import { createLoader, type Loader } from "../../src/load/thread.ts";
import { loadPolicies } from "../../src/load.ts";
import type { Fact, Suite } from "../suite.ts";

const RULES = 1000;
const BOTS = 300;

/** A changed policy taken into force: all at once, and beside the traffic. */
export const suite: Suite = {
  title: `a reload of ${RULES} rules and ${BOTS} bots, robots.txt included`,
  unit: "reloads/s",
  seconds: 3,
  open: async () => {
    const folder = mkdtempSync(join(tmpdir(), "crawlwall-bench-"));
    const file = join(folder, "policy.yaml");
    writeFileSync(file, policyText());
    const loader = createLoader();
    return {
      contenders: [
        { name: "in one piece", measure: (seconds) => rate(seconds, () => loadAtOnce(file)) },
        {
          name: "in a thread and slices",
          measure: (seconds) => rate(seconds, () => loader.load(file)),
        },
      ],
      goals: [],
      facts: await factsOf(loader, file),
      close: () => {
        loader.close();
        rmSync(folder, { recursive: true });
      },
    };
  },
};

function loadAtOnce(file: string): unknown {
  const loaded = loadPolicies(file);
  if (loaded.kind === "faulty") throw new Error(loaded.faults.join("\n"));
  return loaded.policies.map(completeLoading);
}

async function rate(seconds: number, load: () => unknown): Promise<number> {
  const start = performance.now();
  let count = 0;
  do {
    await load();
    count += 1;
  } while (performance.now() - start < seconds * 1000);
  return (count / (performance.now() - start)) * 1000;
}

/** The first reload starts the thread; the second one is what most are like. */
async function factsOf(loader: Loader, file: string): Promise<readonly Fact[]> {
  const first = await watched(loader, file);
  const second = await watched(loader, file);
  return [...toldOf("first reload", first), ...toldOf("second reload", second)];
}

function toldOf(name: string, { totalMs, longestMs, busiestMs }: Watched): readonly Fact[] {
  return [
    { name, value: totalMs, unit: "ms", atMost: 3000 },
    { name: "longest wait of a request in it", value: longestMs, unit: "ms", atMost: 50 },
    { name: "processor time of the busiest turn", value: busiestMs, unit: "ms", atMost: 25 },
  ];
}

interface Watched {
  readonly totalMs: number;
  readonly longestMs: number;
  /** What of a wait is ours, however busy the machine is. */
  readonly busiestMs: number;
}

/** How long a request that comes at any moment of a reload has to wait for its turn. */
async function watched(loader: Loader, file: string): Promise<Watched> {
  let longestMs = 0;
  let busiestMs = 0;
  let last = performance.now();
  let lastUsed = processorMs();
  const turn = (): void => {
    const now = performance.now();
    const used = processorMs();
    longestMs = Math.max(longestMs, now - last);
    busiestMs = Math.max(busiestMs, used - lastUsed);
    last = now;
    lastUsed = used;
  };
  const turns = setInterval(turn, 1);
  const start = performance.now();
  const loaded = await loader.load(file);
  turn();
  clearInterval(turns);
  if (loaded.kind === "faulty") throw new Error(loaded.faults.join("\n"));
  return { totalMs: performance.now() - start, longestMs, busiestMs };
}

/** Of this thread alone. */
function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

function policyText(): string {
  const bots = Array.from(
    { length: BOTS },
    (_, index) => `- id: bot${index}
  name: Bot ${index}
  class: class${index % 10}
  operator: Operator ${index % 30}
  match: { user_agents: [CrawlerNumber${index}x] }
  verify: { type: reverse_dns, allowed_suffixes: [.crawl${index}.example.com] }
`,
  );
  const rules = Array.from(
    { length: RULES },
    (_, index) => `- id: rule${index}
  priority: ${index}
  when: >
    bot.id == "bot${index % BOTS}" && bot.verified && request.path.startsWith("/part${index}/")
  action: { type: block, status: 403, reason: closed }
`,
  );
  return `site: { id: large, host: large.example.com, mode: enforce }
robots: { serve: true }
bots:
${bots.join("")}rules:
${rules.join("")}`;
}
