import { pino } from "pino";
import { expect, test } from "vitest";
import { createReloads } from "../../src/assemble/reloads.ts";
import { createSites } from "../../src/assemble/sites.ts";
import { createMetrics } from "../../src/io/metrics.ts";
import { completeLoading } from "../../src/load/loaded.ts";
import type { Loader } from "../../src/load/thread.ts";
import { policyFrom } from "../support/compile.ts";

test("an error in taking policies over leaves the last good set, and the next reload works", async () => {
  const loaded = (id: string) => [
    completeLoading(policyFrom(`site: { id: ${id}, host: docs.example.com }\n`)),
  ];
  let isBroken = false;
  const sites = createSites(loaded("first"), () => {
    if (isBroken) throw new Error("EACCES: permission denied");
  });
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => lines.push(line) });
  const metrics = createMetrics();
  const loader: Loader = {
    load: async () => ({ kind: "loaded", policies: loaded("second") }),
    close: () => undefined,
  };
  const reloads = createReloads({ path: "policies", loader, sites, metrics, log });
  isBroken = true;
  reloads.request();
  await reloads.settled();
  expect(sites.all().map(({ site }) => site.id)).toEqual(["first"]);
  expect(lines.join("")).toContain("EACCES: permission denied");
  expect(await metrics.text()).toContain("crawlwall_policy_reload_failures_total 1");
  isBroken = false;
  reloads.request();
  await reloads.settled();
  expect(sites.all().map(({ site }) => site.id)).toEqual(["second"]);
});
