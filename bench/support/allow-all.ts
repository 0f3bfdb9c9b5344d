import Fastify from "fastify";

/*
 * The least that a sidecar can be, in a process of its own: a Fastify route that allows everything
 * with the headers of an allow. `node allow-all.ts <port>` prints `listening` when it does.
 */

const app = Fastify();
app.all("/authz/forward-auth", (_, reply) => {
  reply
    .headers({
      "X-Crawlwall-Decision": "allow",
      "X-Crawlwall-Rule": "runtime.default_action",
      "X-Crawlwall-Bot": "unknown",
      "X-Crawlwall-Verification": "unverifiable",
      "X-Crawlwall-Event": "019ad4c1-7d1c-7000-8000-000000000000",
      "X-Crawlwall-Receipt": "none",
    })
    .send();
});
await app.listen({ host: "127.0.0.1", port: Number(process.argv[2]) });
console.log("listening");
