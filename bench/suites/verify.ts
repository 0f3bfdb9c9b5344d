import {
  type Address,
  type AddressSet,
  type Cidr,
  createAddressSet,
  parseAddress,
  parseCidr,
} from "../../src/core/cidr.ts";
import { type Contender, type Fact, operationsPerSecond, type Suite } from "../suite.ts";

const SIZES = [10, 1_000, 100_000] as const;
const BATCH = 1_000;

/** An address against lists of three sizes, half IPv4 and half IPv6: the set, and a loop over blocks. */
export const suite: Suite = {
  title: "one address against an address list",
  unit: "look-ups/s",
  seconds: 1,
  open: () => {
    const lists = SIZES.map((size) => ({ size, cidrs: createBlocks(size) }));
    const sets = lists.map(({ size, cidrs }) => ({ size, set: createAddressSet(cidrs) }));
    const addresses = createAddresses();
    const [small = never(), ...larger] = sets.map(({ size, set }) =>
      contender(`set of ${size}`, addresses, set),
    );
    const loops = lists.map(({ size, cidrs }) =>
      contender(`loop over ${size}`, addresses, { find: (address) => loop(cidrs, address) }),
    );
    return {
      contenders: [small, ...larger, ...loops],
      goals: [{ contender: "set of 100000", against: "loop over 1000", atLeast: 1 }],
      facts: sets.map(({ size, set }) => duration(size, addresses, set)),
      close: () => {},
    };
  },
};

type Finder = Pick<AddressSet, "find">;

function never(): never {
  throw new Error("there is no size");
}

function contender(name: string, addresses: readonly Address[], finder: Finder): Contender {
  return { name, measure: (seconds) => rate(finder, addresses, seconds) };
}

function rate(finder: Finder, addresses: readonly Address[], seconds: number): number {
  const mask = addresses.length - 1;
  return operationsPerSecond(seconds, BATCH, (count) => {
    const address = addresses[count & mask];
    return address && finder.find(address);
  });
}

/** Nanoseconds for one, in the best of many short runs: what else the machine does falls away. */
function duration(size: number, addresses: readonly Address[], set: AddressSet): Fact {
  const rates = Array.from({ length: 400 }, () => rate(set, addresses, 0.002));
  const value = 1e9 / Math.max(...rates);
  return { name: `one look-up in ${size}`, value, unit: "ns", atMost: 300 };
}

/** Block by block, as one would write it first. */
function loop(cidrs: readonly Cidr[], address: Address): string | undefined {
  return cidrs.find((cidr) => holds(cidr, address))?.text;
}

function holds(cidr: Cidr, address: Address): boolean {
  if (cidr.first.kind !== address.kind) return false;
  return address.words.every((word, index) => {
    const bits = Math.min(Math.max(cidr.length - index * 32, 0), 32);
    const mask = bits === 0 ? 0 : (0xffffffff << (32 - bits)) >>> 0;
    return ((word ^ (cidr.first.words[index] ?? 0)) & mask) === 0;
  });
}

/** Blocks apart from one another, from /24 to /32, and from /48 to /64. */
function createBlocks(count: number): readonly Cidr[] {
  return Array.from({ length: count }, (_, index) => {
    const number = Math.floor((index * 60_000) / count);
    const text =
      index % 2 === 0
        ? `${20 + (number >> 8)}.${number & 255}.${index & 255}.0/${24 + (index % 9)}`
        : `2a00:${(number & 0xffff).toString(16)}:${(index & 0xffff).toString(16)}::/${48 + (index % 17)}`;
    const result = parseCidr(text);
    if (result.kind === "bad") throw new Error(`${text} ${result.reason}`);
    return result.cidr;
  });
}

/**
 * Addresses all over both spaces. A power of two, and no more than a processor's cache holds: the
 * address of a request was read a moment before it is looked up.
 */
function createAddresses(): readonly Address[] {
  let state = 1;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state >>> 8;
  };
  return Array.from({ length: 1_024 }, (_, index) => {
    const text =
      index % 2 === 0
        ? `${20 + (next() % 200)}.${next() & 255}.${next() & 255}.${next() & 255}`
        : `2a00:${(next() & 0xffff).toString(16)}:${(next() & 0xffff).toString(16)}::${(next() & 0xffff).toString(16)}`;
    const address = parseAddress(text);
    if (address === undefined) throw new Error(`${text} is no address`);
    return address;
  });
}
