import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../support/programs.ts";

test("a reader that has enough of the output, as `head` has, is no failure", async () => {
  const args = [join(root, "bin", "crawlwall.js"), "bots", "list", "--json"];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  let notes = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    notes += text;
  });
  child.stdout.once("data", () => child.stdout.destroy());
  const [code] = await once(child, "close");
  expect({ code, notes }).toEqual({ code: 0, notes: "" });
});
