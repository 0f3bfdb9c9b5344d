import type { Suite } from "../suite.ts";
import { HOST, requireCaddy, startCaddy, startCaddyAlone } from "../support/caddy.ts";
import { CONNECTIONS, contender } from "../support/contender.ts";
import { findLoadTool } from "../support/load.ts";
import { startCrawlWall, startScript } from "../support/servers.ts";
import { pagesOf, VISITS } from "../support/visits.ts";

/** What a visitor waits for: Caddy with the repository's Caddyfile, a small site behind it. */
export const suite: Suite = {
  title: `through Caddy, against a sidecar that always allows, ${CONNECTIONS} connections`,
  unit: "requests/s",
  seconds: 4,
  open: async () => {
    const tool = findLoadTool();
    const caddy = requireCaddy();
    const pages = pagesOf(VISITS, HOST);
    const backend = await startScript("backend.ts");
    const stub = await startScript("allow-all.ts");
    const crawlWall = await startCrawlWall(["--ledger", "off"]);
    const behindStub = await startCaddy(caddy, stub, backend);
    const behindCrawlWall = await startCaddy(caddy, crawlWall, backend);
    const alone = await startCaddyAlone(caddy, backend);
    return {
      contenders: [
        contender("stub", behindStub, pages, tool),
        contender("crawlwall", behindCrawlWall, pages, tool),
        contender("caddy alone", alone, pages, tool),
      ],
      goals: [{ contender: "crawlwall", against: "stub", atLeast: 0.95 }],
      facts: [],
      close: async () => {
        const servers = [alone, behindCrawlWall, behindStub, crawlWall, stub, backend];
        for (const server of servers) await server.stop();
      },
    };
  },
};
