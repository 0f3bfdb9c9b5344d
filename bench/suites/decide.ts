import type { Fact, Suite } from "../suite.ts";
import { findLoadTool } from "../support/load.ts";
import {
  residentMegabytes,
  type Server,
  startAllowAll,
  startCrawlWall,
} from "../support/servers.ts";
import { checksOf, VISITS } from "../support/visits.ts";

const CONNECTIONS = 64;

/** A whole decision over HTTP, with the shipped policy and the decision log in a file. */
export const suite: Suite = {
  title: `/authz/forward-auth against a bare Fastify route, ${CONNECTIONS} connections`,
  unit: "requests/s",
  seconds: 4,
  open: async () => {
    const tool = findLoadTool();
    const bare = await startAllowAll();
    const crawlWall = await startCrawlWall();
    const requests = checksOf(VISITS, tool.idMark);
    const contender = (name: string, server: Server) => ({
      name,
      measure: (seconds: number) =>
        tool.run(server.port, requests, { connections: CONNECTIONS, seconds }),
    });
    return {
      contenders: [contender("bare route", bare), contender("crawlwall", crawlWall)],
      goals: [{ contender: "crawlwall", against: "bare route", atLeast: 0.7 }],
      facts: idleMemory(crawlWall.sidecar.process().child.pid),
      close: async () => {
        await crawlWall.stop();
        await bare.stop();
      },
    };
  },
};

function idleMemory(processId: number | undefined): readonly Fact[] {
  const value = residentMegabytes(processId);
  if (value === undefined) return [];
  return [{ name: "crawlwall resident when idle", value, unit: "MB", atMost: 120 }];
}
