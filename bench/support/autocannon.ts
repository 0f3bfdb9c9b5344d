import autocannon from "autocannon";

/*
 * A process of its own for the load: `node autocannon.ts '{"port", "requests", "connections",
 * "seconds"}'` prints `GOOD <2xx answers> BAD <others> SECONDS <time>`.
 */

const { port, requests, connections, seconds } = JSON.parse(process.argv[2] ?? "{}");
const result = await autocannon({
  url: `http://127.0.0.1:${port}/`,
  connections,
  duration: seconds,
  idReplacement: true,
  requests,
});
const bad = result.errors + result.timeouts + result.non2xx;
console.log(`GOOD ${result["2xx"]} BAD ${bad} SECONDS ${result.duration}`);
