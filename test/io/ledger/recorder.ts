// A process that records events for a test, which tells it what to do and may kill it.
import { writeSync } from "node:fs";
import { openLedger } from "../../../src/io/ledger/open.ts";
import { sampleEvent } from "./sample.ts";

// Events are recorded so many at a time, every two milliseconds.
const [url = "", dataDir = "", atATime = ""] = process.argv.slice(2);
const ledger = await openLedger(url, {
  dataDir,
  log: (level, fields, message) => {
    process.stderr.write(`${JSON.stringify({ level, ...fields, message })}\n`);
  },
});
if (ledger === undefined) throw new Error("no ledger");

let count = 0;

function record(): void {
  ledger?.record(sampleEvent({ path: `/${count}` }));
  count++;
}

const timer = setInterval(() => {
  for (let index = 0; index < Number(atATime); index++) record();
  // Said after it was recorded, so that the test knows what must be there.
  writeSync(1, `${count} ${Date.now()}\n`);
}, 2);

process.on("SIGTERM", () => {
  clearInterval(timer);
  void ledger.close().then(() => {
    process.stdout.write(`counters ${JSON.stringify(ledger.counters())}\n`, () => process.exit(0));
  });
});
