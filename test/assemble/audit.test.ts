import { afterEach, expect, test } from "vitest";
import { freePort } from "../support/free-port.ts";
import { startProgram } from "../support/program.ts";
import { type Sidecar, startSidecar } from "../support/sidecar.ts";
import { waitFor } from "../support/wait.ts";

let sidecar: Sidecar | undefined;

afterEach(async () => {
  await sidecar?.stop();
  sidecar = undefined;
});

const SITE =
  "site: { id: local, hosts: [127.0.0.1, '*.example.com'], rate_limit_required: true }\n";

async function history(folder: string): Promise<{ readonly periods: readonly object[] }> {
  const where = ["--host", "127.0.0.1", "--data-dir", `${folder}/data`];
  const args = ["bin/crawlwall.js", "audit", "history", "--json", ...where];
  const program = startProgram(process.execPath, args);
  expect(await program.ended).toBe(0);
  return JSON.parse(program.stdout());
}

test("--audit-every audits the hosts of the policies: findings in the log and /metrics, records in the ledger", async () => {
  const admin = `127.0.0.1:${await freePort()}`;
  sidecar = await startSidecar({
    policies: { "local.yaml": SITE },
    flags: ["--audit-every", "1s", "--admin", admin],
  });
  const { folder, process } = sidecar;
  await waitFor(
    "an audit",
    () => process().output().includes("crawl-delay audit done") || undefined,
    30_000,
  );
  expect(process().output()).toContain("does not provide a valid crawl-delay directive.");
  const metrics = await (await fetch(`http://${admin}/metrics`)).text();
  expect(metrics).toMatch(/^crawlwall_audit_hosts 1$/m);
  expect(metrics).toMatch(/^crawlwall_audit_findings 2$/m);
  expect(await history(folder)).toMatchObject({
    periods: [
      {
        audited_agent: "*",
        record: { error_detail: "blocked_address", crawl_delay_violation: true, scheme: "https" },
      },
    ],
  });
  process().child.kill("SIGTERM");
  expect(await process().ended).toBe(0);
});
