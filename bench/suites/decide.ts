import type { Fact, Suite } from "../suite.ts";
import { CONNECTIONS, contender } from "../support/contender.ts";
import { findLoadTool } from "../support/load.ts";
import { residentMegabytes, type Server, startCrawlWall, startScript } from "../support/servers.ts";
import { checksOf, VISITS } from "../support/visits.ts";

/** A whole decision over HTTP, with the shipped policy and the decision log in a file. */
export const suite: Suite = {
  title: `/authz/forward-auth against a bare Fastify route, ${CONNECTIONS} connections`,
  unit: "requests/s",
  seconds: 4,
  open: async () => {
    const tool = findLoadTool();
    const checks = checksOf(VISITS, tool.idMark);
    const bare = await startScript("allow-all.ts");
    const crawlWall = await startCrawlWall(["--ledger", "off"]);
    const withLedger = await startCrawlWall();
    return {
      contenders: [
        contender("bare route", bare, checks, tool),
        contender("crawlwall", crawlWall, checks, tool),
        contender("crawlwall and its ledger", withLedger, checks, tool),
      ],
      goals: [{ contender: "crawlwall", against: "bare route", atLeast: 0.7 }],
      facts: idleMemory(crawlWall),
      close: async () => {
        await withLedger.stop();
        await crawlWall.stop();
        await bare.stop();
      },
    };
  },
};

function idleMemory(server: Server): readonly Fact[] {
  const value = residentMegabytes(server.processId);
  if (value === undefined) return [];
  return [{ name: "crawlwall resident when idle", value, unit: "MB", atMost: 120 }];
}
