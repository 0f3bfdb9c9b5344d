import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import type { DecisionEvent } from "../../src/core/event.ts";
import type { Policy } from "../../src/core/policy/policy.ts";
import { receiptClaims } from "../../src/core/receipt.ts";
import { publicJwkOf } from "../../src/io/receipts/public-keys.ts";
import { createSealer, type Sealer } from "../../src/io/receipts/sealer.ts";
import { policyFrom } from "../../test/support/compile.ts";
import { requestFor, testGate } from "../../test/support/visits.ts";
import { operationsPerSecond, type Suite } from "../suite.ts";

const POLICY = `
site: { id: paid, host: docs.example.com, mode: enforce }
rules:
  - id: meter
    priority: 10
    when: request.path.startsWith("/archive")
    action: { type: allow_metered, price: { amount: "0.002", currency: USD, unit: request } }
`;

/** What a receipt costs: an Ed25519 signature alone, the claims, and the sealed event. */
export const suite: Suite = {
  title: "a receipt for a metered request",
  unit: "receipts/s",
  seconds: 1,
  open: async () => {
    const policy = policyFrom(POLICY);
    const event = await meteredEvent(policy);
    const { privateKey } = generateKeyPairSync("ed25519");
    const sealer = sealerWith(privateKey);
    const payload = Buffer.from(JSON.stringify(receiptClaims(event)));
    const one = await waitForOne(sealer, event, policy);
    return {
      contenders: [
        {
          name: "signature alone",
          measure: (seconds) =>
            operationsPerSecond(seconds, 20, () => sign(undefined, payload, privateKey)),
        },
        {
          name: "claims and digest",
          measure: (seconds) => operationsPerSecond(seconds, 200, () => receiptClaims(event)),
        },
        {
          name: "sealed, one by one",
          measure: (seconds) => seal(sealer, event, policy, seconds, 1),
        },
        {
          name: "sealed, 64 at once",
          measure: (seconds) => seal(sealer, event, policy, seconds, 64),
        },
      ],
      goals: [{ contender: "sealed, 64 at once", against: "signature alone", atLeast: 0.3 }],
      facts: [{ name: "wait for one receipt", value: one, unit: "µs", atMost: 1000 }],
      close: () => {},
    };
  },
};

async function meteredEvent(policy: Policy): Promise<DecisionEvent> {
  const gate = testGate({ kind: "settled", verification: "unverifiable" });
  const { event } = await gate.judge(policy, requestFor({ uri: "/archive/2024/a?page=1" }));
  return event;
}

function sealerWith(privateKey: KeyObject): Sealer {
  const key = { id: publicJwkOf(privateKey).kid, privateKey };
  return createSealer({
    keyOf: () => key,
    protect: (event) => event,
    onError: (error) => {
      throw error;
    },
  });
}

/** The median of many, in microseconds. */
async function waitForOne(sealer: Sealer, event: DecisionEvent, policy: Policy): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < 500; count += 1) {
    const start = performance.now();
    await sealer.seal(event, policy);
    times.push((performance.now() - start) * 1000);
  }
  return times.sort((left, right) => left - right)[times.length >> 1] ?? 0;
}

async function seal(
  sealer: Sealer,
  event: DecisionEvent,
  policy: Policy,
  seconds: number,
  atOnce: number,
): Promise<number> {
  const start = performance.now();
  let count = 0;
  do {
    await Promise.all(Array.from({ length: atOnce }, () => sealer.seal(event, policy)));
    count += atOnce;
  } while (performance.now() - start < seconds * 1000);
  return (count / (performance.now() - start)) * 1000;
}
