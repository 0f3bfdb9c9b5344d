/** What became of a metered request: `held` until a log says more. */
export type SettlementState = "held" | SettledState;

/**
 * What a ledger notes of a metered event: `settled` where the application answered with success,
 * `void` where it did not or where a later try of the same request took its place, `unmatched` where
 * the log of that time has no line for it.
 */
export type SettledState = "settled" | "void" | "unmatched";

/** An answer as the proxy logged it. */
export interface LoggedAnswer {
  readonly requestId: string;
  readonly status: number;
  /** Of the body, as sent. */
  readonly bytes: number;
}

/** A metered event of a request, and what the ledger already notes of it. */
export interface MeteredEvent {
  readonly id: string;
  /** Undefined for an event that is not settled, nor void. */
  readonly state: "settled" | "void" | undefined;
}

export interface Settlement {
  readonly event_id: string;
  readonly state: SettledState;
  /** Null where no answer belongs to the event. */
  readonly upstream_status: number | null;
  readonly bytes: number | null;
}

/**
 * What a logged answer settles: of the request's metered events, given in order of time, the last one
 * is paid for if the answer was a success, and no other. What is noted already stays as it is.
 */
export function settleAnswer(
  answer: LoggedAnswer,
  events: readonly MeteredEvent[],
): readonly Settlement[] {
  const isPaid = events.some(({ state }) => state === "settled");
  const last = isPaid ? undefined : events.at(-1);
  return events
    .filter(({ state }) => state === undefined)
    .map((event) =>
      event === last
        ? {
            event_id: event.id,
            state: answer.status >= 200 && answer.status < 300 ? "settled" : "void",
            upstream_status: answer.status,
            bytes: answer.bytes,
          }
        : { event_id: event.id, state: "void", upstream_status: null, bytes: null },
    );
}
