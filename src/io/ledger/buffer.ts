import type { DecisionEvent } from "../../core/event.ts";

/** Events in memory, first in, first out. */
export interface EventBuffer {
  readonly events: DecisionEvent[];
  /** Where the events start: what is before was taken. */
  start: number;
  /** What the events take up, roughly. */
  bytes: number;
}

/** An event's object, its short texts and its share of the lists around it. */
const EVENT_BYTES = 1024;

/** What an event takes up in memory, roughly: a UTF-16 code unit counts as two bytes. */
function eventBytes(event: DecisionEvent): number {
  const units =
    event.host.length +
    event.path.length +
    lengthOf(event.raw_path) +
    lengthOf(event.query) +
    lengthOf(event.reading) +
    lengthOf(event.user_agent) +
    lengthOf(event.receipt);
  return EVENT_BYTES + 2 * units;
}

function lengthOf(text: string | null): number {
  return text === null ? 0 : text.length;
}

export function createBuffer(): EventBuffer {
  return { events: [], start: 0, bytes: 0 };
}

/** How many events are held. */
export function sizeOf(buffer: EventBuffer): number {
  return buffer.events.length - buffer.start;
}

export function pushEvent(buffer: EventBuffer, event: DecisionEvent): void {
  buffer.events.push(event);
  buffer.bytes += eventBytes(event);
}

/** Takes up to `count` of the oldest events. */
export function takeEvents(buffer: EventBuffer, count: number): readonly DecisionEvent[] {
  const taken = buffer.events.slice(buffer.start, buffer.start + count);
  buffer.start += taken.length;
  for (const event of taken) buffer.bytes -= eventBytes(event);
  compact(buffer);
  return taken;
}

/** Puts events that were taken back to the front. */
export function returnEvents(buffer: EventBuffer, taken: readonly DecisionEvent[]): void {
  const rest = buffer.events.slice(buffer.start);
  buffer.events.length = 0;
  buffer.start = 0;
  for (const event of taken) {
    buffer.events.push(event);
    buffer.bytes += eventBytes(event);
  }
  for (const event of rest) buffer.events.push(event);
}

/** Frees what was taken, now and then, so that taking stays cheap. */
function compact(buffer: EventBuffer): void {
  if (buffer.start < 1024 || buffer.start * 2 < buffer.events.length) return;
  buffer.events.splice(0, buffer.start);
  buffer.start = 0;
}
