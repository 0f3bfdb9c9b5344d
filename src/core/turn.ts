/** Collects what comes in one turn of the event loop, and hands it on together when the turn ends. */
export interface Turn<Item> {
  add(item: Item): void;
  /** Hands on at once what was collected. */
  end(): void;
}

/** What a collection needs to be told. */
export interface TurnOptions {
  /** With so many, the turn ends early. */
  readonly most: number;
  /** Runs something when the turn ends: `setImmediate`. */
  readonly defer: (run: () => void) => void;
}

/** Makes an empty collection. */
export function createTurn<Item>(
  { most, defer }: TurnOptions,
  handOn: (items: readonly Item[]) => void,
): Turn<Item> {
  let waiting: Item[] = [];
  const end = (): void => {
    const items = waiting;
    waiting = [];
    handOn(items);
  };
  return {
    add: (item) => {
      const count = waiting.push(item);
      if (count === 1) defer(end);
      else if (count === most) end();
    },
    end,
  };
}
