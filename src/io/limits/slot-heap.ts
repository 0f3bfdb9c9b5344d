/** Slots in order of a time that each has: the earliest is known, a change takes the logarithm. */
export interface SlotHeap {
  /** The slot with the earliest time, or -1 when there is none. */
  first(): number;
  timeOf(slot: number): number;
  /** Sets a slot's time; a slot is in the heap from its first time on. */
  set(slot: number, time: number): void;
}

interface Heap {
  /** By slot. */
  readonly times: Float64Array;
  /** Slots; none is later than its children. */
  readonly slots: Int32Array;
  /** By slot, its place in `slots` plus one; 0 when it is not there. */
  readonly places: Int32Array;
  size: number;
}

/** A binary heap of at most `capacity` slots, numbered from 0. */
export function createSlotHeap(capacity: number): SlotHeap {
  const heap: Heap = {
    times: new Float64Array(capacity),
    slots: new Int32Array(capacity),
    places: new Int32Array(capacity),
    size: 0,
  };
  return {
    first: () => (heap.size === 0 ? -1 : (heap.slots[0] ?? -1)),
    timeOf: (slot) => heap.times[slot] ?? 0,
    set(slot, time) {
      if (heap.places[slot] === 0) put(heap, heap.size++, slot);
      heap.times[slot] = time;
      sink(heap, rise(heap, (heap.places[slot] ?? 0) - 1));
    },
  };
}

function timeAt(heap: Heap, place: number): number {
  return heap.times[heap.slots[place] ?? 0] ?? 0;
}

function put(heap: Heap, place: number, slot: number): void {
  heap.slots[place] = slot;
  heap.places[slot] = place + 1;
}

/** Moves the slot at a place up to where it belongs, and tells where that is. */
function rise(heap: Heap, from: number): number {
  const slot = heap.slots[from] ?? 0;
  const time = timeAt(heap, from);
  let place = from;
  while (place > 0) {
    const parent = (place - 1) >> 1;
    if (timeAt(heap, parent) <= time) break;
    put(heap, place, heap.slots[parent] ?? 0);
    place = parent;
  }
  put(heap, place, slot);
  return place;
}

/** Moves the slot at a place down to where it belongs. */
function sink(heap: Heap, from: number): void {
  const slot = heap.slots[from] ?? 0;
  const time = timeAt(heap, from);
  let place = from;
  let child = earlierChild(heap, place);
  while (child < heap.size && timeAt(heap, child) < time) {
    put(heap, place, heap.slots[child] ?? 0);
    place = child;
    child = earlierChild(heap, place);
  }
  put(heap, place, slot);
}

function earlierChild(heap: Heap, place: number): number {
  const left = place * 2 + 1;
  const right = left + 1;
  return right < heap.size && timeAt(heap, right) < timeAt(heap, left) ? right : left;
}
