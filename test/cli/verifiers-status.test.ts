import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  body,
  type ListServer,
  prefixes,
  startListServer,
} from "../io/verify/support/list-server.ts";
import { startProgram } from "../support/program.ts";
import { root } from "../support/programs.ts";

let folder: string;
let server: ListServer;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "crawlwall-status-"));
  server = await startListServer(prefixes("203.0.113.0/28"));
  await writeFile(
    join(folder, "site.yaml"),
    `site: {id: site, host: www.example.com}
bots:
  - id: examplebot
    name: ExampleBot
    class: search
    match: {user_agents: [ExampleBot]}
    verify: {type: ip_ranges, sources: ["${server.url}"], refresh: 1h}
  - id: plainbot
    name: PlainBot
    class: search
    match: {user_agents: [PlainBot]}
    verify: none
`,
  );
});

afterEach(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

async function run(
  ...more: readonly string[]
): Promise<{ code: unknown; out: string; all: string }> {
  const where = ["--config", join(folder, "site.yaml"), "--data-dir", join(folder, "data")];
  const args = ["bin/crawlwall.js", "verifiers", "status", ...where, ...more];
  const program = startProgram(process.execPath, args, { cwd: root });
  const code = await program.ended;
  return { code, out: program.stdout(), all: program.output() };
}

const EXAMPLE = {
  bot_id: "examplebot",
  type: "ip_ranges",
  state: "fresh",
  cidrs: 1,
  stale_action: "fail_closed",
  max_stale: "0s",
  error: null,
};

test("each list is fetched once, counted, and kept for the next look", async () => {
  for (let look = 0; look < 2; look++) {
    const { code, out } = await run("--insecure-sources", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject([
      { ...EXAMPLE, source: server.url },
      { bot_id: "plainbot", type: "none", source: null, state: "not_applicable" },
    ]);
  }
  expect(server.requests).toHaveLength(1);
});

test("a source that cannot be read is named with its cause, and the exit code is 1", async () => {
  server.answer(body("nothing here", 404));
  const { code, out } = await run("--insecure-sources");
  expect(code).toBe(1);
  expect(out).toMatch(/examplebot +ip_ranges +failed .*: status 404\n/);
});

test("an expired list in the data dir is shown as it is, and the exit code is 1", async () => {
  await run("--insecure-sources");
  const lists = join(folder, "data", "lists");
  for (const file of await readdir(lists)) {
    const text = await readFile(join(lists, file), "utf8");
    const aged = text.replace(/"fetched_at":"[^"]*"/, '"fetched_at":"2026-01-01T00:00:00.000Z"');
    await writeFile(join(lists, file), aged);
  }
  const { code, out } = await run("--insecure-sources", "--json");
  expect(code).toBe(1);
  expect(JSON.parse(out)[0]).toMatchObject({
    state: "expired",
    fetched_at: "2026-01-01T00:00:00.000Z",
    expires_at: "2026-01-01T01:00:00.000Z",
  });
});

test("a policy that does not compile is told on stderr, and the exit code is 2", async () => {
  await writeFile(join(folder, "site.yaml"), "site: {id: site}\n");
  const { code, out, all } = await run("--json");
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(all).toContain("site.yaml:1:");
});
