import { randomBytes } from "node:crypto";

/** Random bytes of an id: one for each of its 16 random digits. */
const RANDOM_BYTES = 16;

const POOL_BYTES = 512 * RANDOM_BYTES;

/** Where the digits of a UUID stand: the counter after the version, then the variant and chance. */
const COUNTER = 15;
const VARIANT = 19;
const RANDOM: readonly number[] = [20, 21, 22, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35];

const HEX = Buffer.from("0123456789abcdef", "latin1");
const VARIANTS = Buffer.from("89ab", "latin1");

/**
 * Makes UUIDv7 (RFC 9562, 5.7): 48 bits of time, a 12-bit counter that keeps the ids of one
 * millisecond in order, 62 random bits drawn from a pool. They are written into bytes, as a text that
 * is put together of pieces takes JSON.stringify twice as long.
 */
export function createEventIds(): (nowMs: number) => string {
  const id = Buffer.from("00000000-0000-7000-8000-000000000000", "latin1");
  const pool = { bytes: randomBytes(POOL_BYTES), used: 0 };
  let lastMs = 0;
  let counter = 0;
  const moveTo = (ms: number): void => {
    lastMs = ms;
    counter = 0;
    id.write(timePart(ms), 0, "latin1");
  };
  return (nowMs) => {
    // In the same millisecond, or after a clock stepped back, ids stay in order; they borrow from the
    // future when 4,096 in one millisecond are not enough (RFC 9562, 6.2).
    if (nowMs > lastMs) moveTo(nowMs);
    else if (counter === 0xfff) moveTo(lastMs + 1);
    else counter += 1;
    writeDigits(id, counter, draw(pool));
    return id.toString("latin1");
  };
}

/** Random bytes, `RANDOM_BYTES` of them from `used` on, and no others twice. */
interface Pool {
  bytes: Buffer;
  used: number;
}

function draw(pool: Pool): Pool {
  pool.used += RANDOM_BYTES;
  if (pool.used >= POOL_BYTES) {
    pool.bytes = randomBytes(POOL_BYTES);
    pool.used = 0;
  }
  return pool;
}

function writeDigits(id: Buffer, counter: number, { bytes, used }: Pool): void {
  id[COUNTER] = HEX[counter >> 8] ?? 0;
  id[COUNTER + 1] = HEX[(counter >> 4) & 15] ?? 0;
  id[COUNTER + 2] = HEX[counter & 15] ?? 0;
  id[VARIANT] = VARIANTS[(bytes[used] ?? 0) & 3] ?? 0;
  for (let digit = 0; digit < RANDOM.length; digit++) {
    id[RANDOM[digit] ?? 0] = HEX[(bytes[used + 1 + digit] ?? 0) & 15] ?? 0;
  }
}

/** The part that ids of one millisecond share, up to the version. */
function timePart(ms: number): string {
  const digits = Math.trunc(ms).toString(16).padStart(12, "0");
  return `${digits.slice(0, 8)}-${digits.slice(8)}-`;
}
