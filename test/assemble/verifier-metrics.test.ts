import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { publishVerifier } from "../../src/assemble/verifier-metrics.ts";
import { createMetrics } from "../../src/io/metrics.ts";
import { openVerifier } from "../../src/io/verify/verifier.ts";
import { botWith, policyWith, ranges } from "../io/verify/support/claims.ts";

test("graphs show age, size and failures of every source, and the lookups", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "crawlwall-metrics-"));
  await writeFile(join(dataDir, "own.txt"), "203.0.113.0/28\n");
  const source = { kind: "file", format: "text", pointer: undefined } as const;
  const bot = botWith(
    ranges([
      { ...source, file: "own.txt" },
      { ...source, file: "gone.txt" },
    ]),
  );
  const verifier = openVerifier({
    dataDir,
    dnsServers: undefined,
    timeoutMs: 500,
    allowInsecureSources: false,
  });
  const metrics = createMetrics();
  publishVerifier(metrics, verifier);
  verifier.configure([{ ...policyWith(bot), file: join(dataDir, "site.yaml") }]);
  await verifier.ready();
  const lines = (await metrics.text()).split("\n");
  expect(lines).toEqual(
    expect.arrayContaining([
      'crawlwall_verifier_prefixes{bot="examplebot",source="own.txt"} 1',
      'crawlwall_verifier_prefixes{bot="examplebot",source="gone.txt"} 0',
      'crawlwall_verifier_failures{bot="examplebot",source="own.txt"} 0',
      expect.stringMatching(
        /^crawlwall_verifier_failures\{bot="examplebot",source="gone.txt"\} [1-9]/,
      ),
      expect.stringMatching(
        /^crawlwall_verifier_age_seconds\{bot="examplebot",source="own.txt"\} \d/,
      ),
      "crawlwall_dns_lookups 0",
    ]),
  );
  expect(lines.some((line) => /age_seconds.*gone/.test(line))).toBe(false);
  verifier.close();
  await rm(dataDir, { recursive: true, force: true });
});
