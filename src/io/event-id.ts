import { randomFillSync } from "node:crypto";

const POOL_BYTES = 8192;
const RANDOM_BYTES = 8;

/**
 * Makes UUIDv7 (RFC 9562, 5.7): 48 bits of time, a 12-bit counter that keeps the ids of one
 * millisecond in order, 62 random bits drawn from a pool.
 */
export function createEventIds(): (nowMs: number) => string {
  const pool = Buffer.alloc(POOL_BYTES);
  let used = POOL_BYTES;
  let lastMs = 0;
  let counter = 0;
  return (nowMs) => {
    if (nowMs > lastMs) {
      lastMs = nowMs;
      counter = 0;
    } else {
      // The same millisecond, or a clock that stepped back: ids stay in order, and borrow from the
      // future when 4,096 in one millisecond are not enough (RFC 9562, 6.2).
      counter += 1;
      if (counter > 0xfff) {
        lastMs += 1;
        counter = 0;
      }
    }
    if (used === POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    const random = pool.toString("hex", used, used + RANDOM_BYTES);
    used += RANDOM_BYTES;
    return format(lastMs, counter, random);
  };
}

/** The first random digit gives way to the variant: 8, 9, a or b. */
function format(ms: number, counter: number, random: string): string {
  const time = Math.trunc(ms).toString(16).padStart(12, "0");
  const sequence = counter.toString(16).padStart(3, "0");
  const variant = "89ab"[Number.parseInt(random.slice(0, 1), 16) & 3];
  const head = `${time.slice(0, 8)}-${time.slice(8)}-7${sequence}-${variant}`;
  return `${head}${random.slice(1, 4)}-${random.slice(4)}`;
}
