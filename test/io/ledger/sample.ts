import type { DecisionEvent } from "../../../src/core/event.ts";

let made = 0;

/** An event with an id of its own; what a test is about is given. */
export function sampleEvent(given: Partial<DecisionEvent> = {}): DecisionEvent {
  const ts = given.ts ?? new Date().toISOString();
  const time = Date.parse(ts).toString(16).padStart(12, "0");
  const count = (made++).toString(16).padStart(15, "0");
  return {
    id: `${time.slice(0, 8)}-${time.slice(8)}-7${count.slice(0, 3)}-8${count.slice(0, 3)}-${count.slice(3)}`,
    ts,
    request_id: null,
    site_id: "docs",
    host: "docs.example.com",
    method: "GET",
    path: "/archive/a",
    raw_path: null,
    query: null,
    reading: null,
    ip: "203.0.113.9",
    user_agent: "curl/8.0",
    bot_id: "unknown",
    bot_class: "unknown",
    bot_operator: null,
    claimed: false,
    verified: false,
    verification: "unverifiable",
    evidence: null,
    action: "allow",
    rule_id: "runtime.default_action",
    reason: null,
    status: 200,
    mode: "enforce",
    enforced: true,
    would_block: false,
    shadowed: [],
    faults: [],
    tags: [],
    price_amount: null,
    price_currency: null,
    price_unit: null,
    receipt_id: null,
    receipt: null,
    policy_hash: "0".repeat(64),
    duration_us: 42,
    ...given,
  };
}
