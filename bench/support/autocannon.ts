import autocannon from "autocannon";

/*
 * A process of its own for the load: `node autocannon.ts '{"port", "requests", "connections",
 * "seconds"}'` prints `RATE <requests a second> BAD <failures>`.
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
console.log(`RATE ${result["2xx"] / result.duration} BAD ${bad}`);
