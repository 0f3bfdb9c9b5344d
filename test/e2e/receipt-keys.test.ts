import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { makePrivateKey } from "../../src/io/receipts/keys.ts";
import { head, sendRaw } from "../support/raw-client.ts";
import { type Sidecar, startSidecar } from "../support/sidecar.ts";
import { waitFor } from "../support/wait.ts";

const keySet = z.object({ keys: z.array(z.object({ kid: z.string() })) });

function policyWith(receipts: string): string {
  return `
site: {id: site, host: site.test}
${receipts}
rules:
  - {id: a, priority: 1, when: "true", action: allow, audit: {receipt: true}}
`;
}

const NAMED = policyWith("receipts: {signer: {key_file: keys/own.pem}}");

async function publishedKeys(sidecar: Sidecar): Promise<readonly string[]> {
  const lines = ["Host: localhost"];
  const answer = await sendRaw(sidecar.door, head("/.well-known/crawlwall/jwks.json", lines));
  return keySet.parse(JSON.parse(answer?.body ?? "")).keys.map(({ kid }) => kid);
}

it("does not start without the key that a policy names, looked for beside the policy", async () => {
  const started = startSidecar({ policies: { "site.yaml": NAMED } });
  await expect(started).rejects.toThrow(
    /site\.yaml: receipts\.signer\.key_file: `.*\/policies\/keys\/own\.pem` cannot be read/,
  );
});

it("keeps the last good set while a key is open to others, then publishes new and old", async () => {
  const sidecar = await startSidecar({ policies: { "site.yaml": policyWith("") } });
  try {
    const [first] = await publishedKeys(sidecar);
    const file = join(sidecar.folder, "policies/keys/own.pem");
    mkdirSync(join(sidecar.folder, "policies/keys"));
    writeFileSync(file, makePrivateKey());
    chmodSync(file, 0o644);
    sidecar.writePolicy("site.yaml", NAMED);
    await waitFor("the reload to be refused", () =>
      sidecar.process().output().includes("can be read by others (mode 0644)") ? true : undefined,
    );
    expect(await publishedKeys(sidecar)).toEqual([first]);

    chmodSync(file, 0o600);
    sidecar.process().child.kill("SIGHUP");
    const keys = await waitFor("the new key", async () => {
      const found = await publishedKeys(sidecar);
      return found.length === 2 ? found : undefined;
    });
    expect(keys[1]).toBe(first);
  } finally {
    await sidecar.stop();
  }
});
