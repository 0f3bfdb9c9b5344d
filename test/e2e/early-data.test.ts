import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseEcho } from "../support/echo-upstream.ts";
import { newCaddy, oldCaddy } from "../support/programs.ts";
import { startWall, type Wall } from "../support/wall.ts";
import { hosts, policies } from "./policies.ts";

const ZERO = "Early-Data: 0";
const ONE = "Early-Data: 1";

// RFC 8470: the proxy marks what came as TLS early data. A visitor may write the field, too.
describe.each([oldCaddy, newCaddy])("behind $name", (caddy) => {
  let wall: Wall;
  beforeAll(async () => {
    wall = await startWall({ caddy, policies, hosts });
  });
  afterAll(() => wall.stop());

  it("serves a visitor whose own Early-Data field says 0 (RFC 8470, 5.1: 1 alone has a meaning)", async () => {
    const answer = await wall.send("/page", { lines: [ZERO] });
    expect(answer.status).toBe(200);
    expect(await wall.eventOf(answer)).toMatchObject({ action: "allow", would_block: false });
  });

  it("judges such a visitor like any other", async () => {
    const answer = await wall.send("/secret", { lines: [ZERO] });
    expect(answer.status).toBe(403);
    expect(await wall.eventOf(answer)).toMatchObject({ rule_id: "block_private" });
  });

  it.each([[[ONE]], [[ZERO, ONE]], [[ONE, ZERO]], [[ZERO, ZERO]]])(
    "has %j try again when its address is proved, and hands nothing on",
    async (lines) => {
      const reached = wall.backend.requests();
      for (const method of ["GET", "POST"]) {
        const answer = await wall.send("/page", { method, lines });
        expect(answer.status).toBe(425);
        expect(JSON.parse(answer.body)).toMatchObject({ status: 425, detail: "early_data" });
        expect(await wall.eventOf(answer)).toMatchObject({
          rule_id: "runtime.early_data",
          action: "block",
          enforced: true,
        });
      }
      expect(wall.backend.requests()).toBe(reached);
    },
  );

  it("serves early data in shadow and notes it, and leaves the field to the application", async () => {
    const answer = await wall.send("/page", { host: "shadow.test", lines: [ONE] });
    expect(answer.status).toBe(200);
    expect(parseEcho(answer.body).headers["early-data"]).toBe("1");
    expect(await wall.eventOf(answer)).toMatchObject({
      rule_id: "runtime.early_data",
      would_block: true,
    });
  });

  it("never keeps robots.txt from anybody, early or not", async () => {
    const answer = await wall.send("/robots.txt", { lines: [ONE] });
    expect(answer.status).toBe(200);
  });
});
