/**
 * A set of outlooks, a bit for each: what crawlers have in common is worked out for hundreds of them
 * at once.
 */
export type Crowd = bigint;

/** The empty set. */
export const NOBODY: Crowd = 0n;

/** The one outlook with a number, from 0. */
export function crowdOf(index: number): Crowd {
  return 1n << BigInt(index);
}

/** Things, each with those who have it: one share for each outlook, in order. */
export function ownersOf<Thing>(shares: readonly Iterable<Thing>[]): ReadonlyMap<Thing, Crowd> {
  const owners = new Map<Thing, Crowd>();
  for (const [index, share] of shares.entries()) {
    const owner = crowdOf(index);
    for (const thing of share) owners.set(thing, (owners.get(thing) ?? NOBODY) | owner);
  }
  return owners;
}

/** The shares of so many outlooks, in the order of the things. */
export function sharesOf<Thing>(
  owners: Iterable<readonly [Thing, Crowd]>,
  count: number,
): readonly (readonly Thing[])[] {
  const shares = Array.from({ length: count }, (): Thing[] => []);
  for (const [thing, crowd] of owners) {
    for (const index of numbersIn(crowd)) shares[index]?.push(thing);
  }
  return shares;
}

function numbersIn(crowd: Crowd): readonly number[] {
  const digits = crowd.toString(2);
  return Array.from(digits.matchAll(/1/g), ({ index }) => digits.length - 1 - index);
}
