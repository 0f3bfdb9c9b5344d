import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../support/free-port.ts";
import { startProgram } from "../support/program.ts";
import { newCaddy, root } from "../support/programs.ts";
import { startWall, type Wall } from "../support/wall.ts";

const EXAMPLE = `${root}examples/web-bot-auth/`;

let wall: Wall;
let directory: number;

beforeAll(async () => {
  directory = await freePort();
  const policy = readFileSync(`${EXAMPLE}policies/site.yaml`, "utf8").replace(
    "9400",
    `${directory}`,
  );
  wall = await startWall({
    caddy: newCaddy,
    policies: { "site.yaml": policy },
    flags: ["--insecure-sources"],
    hosts: ["127.0.0.1"],
  });
});

afterAll(async () => {
  await wall.stop();
});

test("the example's signed requests pass, and nothing else of it does", async () => {
  const page = `http://127.0.0.1:${wall.caddy.port}/a%20page?with=query`;
  const agent = startProgram(process.execPath, [`${EXAMPLE}agent.mjs`, page, `${directory}`]);
  expect({ code: await agent.ended, output: agent.output() }).toEqual({
    code: 0,
    output: expect.stringMatching(/signed: 200\nthe same signature again: 403 /),
  });
  const outcomes = wall.sidecar.events().map((event) => event.verification);
  expect(outcomes.filter((outcome) => outcome === "verified")).toHaveLength(1);
});
