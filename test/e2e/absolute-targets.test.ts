import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseEcho } from "../support/echo-upstream.ts";
import { newCaddy, oldCaddy } from "../support/programs.ts";
import { head, sendRaw } from "../support/raw-client.ts";
import { startWall, type Wall } from "../support/wall.ts";
import { hosts, policies } from "./policies.ts";

// RFC 9112, 3.2.2: of an absolute target the authority counts, and the Host field does not.
describe.each([oldCaddy, newCaddy])("behind $name", (caddy) => {
  let wall: Wall;
  beforeAll(async () => {
    wall = await startWall({ caddy, policies, hosts: [...hosts, "unruled.test"] });
  });
  afterAll(() => wall.stop());

  it.each(["http://other.test/abs", "HTTP://OTHER.TEST/abs", "http://user:pw@other.test/abs"])(
    "gives %s no answer, whatever site the Host field names (D18)",
    async (target) => {
      const reached = wall.backend.requests();
      const lines = ["Host: site.test", "User-Agent: curl/8.0"];
      const answer = await sendRaw(wall.caddy.port, head(target, lines));
      expect(answer).toBeUndefined();
      expect(wall.backend.requests()).toBe(reached);
      expect(wall.sidecar.events().filter(({ path }) => path === "/abs")).toEqual([]);
    },
  );

  it("refuses a host that the proxy serves and no policy speaks for, also one in shadow's name", async () => {
    const reached = wall.backend.requests();
    for (const host of ["site.test", "shadow.test"]) {
      const answer = await wall.send("http://unruled.test/page", { host });
      expect(answer.status).toBe(421);
      expect(await wall.eventOf(answer)).toMatchObject({
        host: "unruled.test",
        site_id: null,
        rule_id: "runtime.unknown_host",
      });
    }
    expect(wall.backend.requests()).toBe(reached);
  });

  it("judges by the site that the target names, and shows the application that one", async () => {
    const answer = await wall.send("http://site.test/open", { host: "other.test" });
    expect(answer.status).toBe(200);
    expect(parseEcho(answer.body)).toMatchObject({ url: "/open", headers: { host: "site.test" } });
    expect(await wall.eventOf(answer)).toMatchObject({ site_id: "site", host: "site.test" });
  });

  it("lends no site the leniency of another", async () => {
    const refused = await wall.send("http://site.test/secret", { host: "shadow.test" });
    expect(refused.status).toBe(403);
    const served = await wall.send("http://shadow.test/secret", { host: "site.test" });
    expect(served.status).toBe(200);
    expect(parseEcho(served.body).headers.host).toBe("shadow.test");
    expect(await wall.eventOf(served)).toMatchObject({ site_id: "shadow", would_block: true });
  });
});
