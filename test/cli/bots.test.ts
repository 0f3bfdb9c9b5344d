import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { root } from "../support/programs.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "crawlwall-bots-"));
  await mkdir(join(folder, "catalog"));
  await writeFile(join(folder, "site.yaml"), "site: {id: site, host: www.example.com}\n");
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

function bots(
  args: readonly string[],
  input = "",
): { readonly code: number | null; readonly out: string; readonly notes: string } {
  const all = ["bin/crawlwall.js", "bots", ...args, "--policies", folder];
  const run = spawnSync(process.execPath, all, { cwd: root, input, encoding: "utf8" });
  return { code: run.status, out: run.stdout, notes: run.stderr };
}

const OWN = `operator: Example Ltd
confidence: operator
checked: 2026-11-30
bots:
  - id: ownbot
    name: OwnBot
    class: monitoring
    match: {user_agents: [GPTBot]}
`;

const GPTBOT = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; GPTBot/1.4";

test("`bots match` tells the claim of every User-Agent, and null where there is none", () => {
  const { code, out, notes } = bots(["match", GPTBOT, "Mozilla/5.0", "--json"]);
  expect({ code, notes }).toEqual({ code: 0, notes: "" });
  expect(JSON.parse(out)).toEqual([
    {
      user_agent: GPTBOT,
      id: "gptbot",
      name: "GPTBot",
      class: "ai_training",
      operator: "OpenAI",
      token: "GPTBot",
    },
    {
      user_agent: "Mozilla/5.0",
      id: null,
      name: null,
      class: null,
      operator: null,
      token: null,
    },
  ]);
});

test("`bots match -` reads a User-Agent from each line of stdin, an empty one too", () => {
  const { code, out } = bots(["match", "-"], `${GPTBOT}\r\n\nＧｏｏｇｌｅｂｏｔ/2.1\n`);
  expect({ code, lines: out.split("\n") }).toEqual({
    code: 0,
    lines: [
      `gptbot by \`GPTBot\`\t${GPTBOT}`,
      "none\t",
      "googlebot by `Googlebot`\tＧｏｏｇｌｅｂｏｔ/2.1",
      "",
    ],
  });
});

test("`bots list` names every crawler of the catalog, or those of a class", () => {
  const all: unknown = JSON.parse(bots(["list", "--json"]).out);
  const archives = bots(["list", "--class", "archive"]).out.trimEnd().split("\n");
  expect(all).toHaveLength(268);
  expect(archives.map((line) => line.split(/\s+/)[0])).toContain("archive-org-bot");
  expect(archives.map((line) => line.split(/\s+/)[1])).toEqual(archives.map(() => "archive"));
});

test("`bots show` tells what the catalog says of a crawler", () => {
  const { code, out } = bots(["show", "gptbot", "--json"]);
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({
    id: "gptbot",
    operator: "OpenAI",
    user_agents: ["GPTBot"],
    verify: [
      {
        type: "ip_ranges",
        sources: [{ url: "https://openai.com/gptbot.json", format: "prefixes" }],
      },
    ],
    robots_token: "GPTBot",
  });
});

test("`bots show` of a crawler that is not there names the nearest, exit 2", () => {
  expect(bots(["show", "gptbto"])).toEqual({
    code: 2,
    out: "",
    notes: "crawlwall: the catalog has no crawler `gptbto`; did you mean `gptbot`?\n",
  });
});

test("entries in `catalog/` beside the policies count, and win with an equal token", async () => {
  await writeFile(join(folder, "catalog", "own.yaml"), OWN);
  expect(bots(["match", GPTBOT]).out).toBe(`ownbot by \`GPTBot\`\t${GPTBOT}\n`);
});

test("faults of own entries are told with their place, exit 2", async () => {
  await writeFile(join(folder, "catalog", "own.yaml"), OWN.replace("class:", "klass:"));
  const { code, out, notes } = bots(["list"]);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(notes).toContain(
    "own.yaml:7:5: bots[0].klass: unknown key `klass`; did you mean `class`?",
  );
});
