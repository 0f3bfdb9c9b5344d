import { randomBytes } from "node:crypto";

const POOL_BYTES = 8192;

/** Hexadecimal digits of randomness in an id: 64 bits, of which two give way to the variant. */
const DIGITS = 16;

/**
 * Makes UUIDv7 (RFC 9562, 5.7): 48 bits of time, a 12-bit counter that keeps the ids of one
 * millisecond in order, 62 random bits drawn from a pool.
 */
export function createEventIds(): (nowMs: number) => string {
  let pool = "";
  let used = 0;
  let lastMs = 0;
  let time = "";
  let counter = 0;
  const moveTo = (ms: number): void => {
    lastMs = ms;
    time = timePart(ms);
    counter = 0;
  };
  return (nowMs) => {
    // In the same millisecond, or after a clock stepped back, ids stay in order; they borrow from the
    // future when 4,096 in one millisecond are not enough (RFC 9562, 6.2).
    if (nowMs > lastMs) moveTo(nowMs);
    else if (counter === 0xfff) moveTo(lastMs + 1);
    else counter += 1;
    if (used === pool.length) {
      pool = randomBytes(POOL_BYTES).toString("hex");
      used = 0;
    }
    const start = used;
    used += DIGITS;
    return `${time}${(0x7000 + counter).toString(16)}-${variant(pool, start)}${pool.slice(start + 1, start + 4)}-${pool.slice(start + 4, used)}`;
  };
}

/** The part that ids of one millisecond share, up to the version. */
function timePart(ms: number): string {
  const digits = Math.trunc(ms).toString(16).padStart(12, "0");
  return `${digits.slice(0, 8)}-${digits.slice(8)}-`;
}

/** A digit of the pool made the variant: 8, 9, a or b. */
function variant(pool: string, at: number): string {
  return "89ab".charAt(pool.charCodeAt(at) & 3);
}
