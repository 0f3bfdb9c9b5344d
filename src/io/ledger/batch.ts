import type { DecisionEvent } from "../../core/event.ts";
import { type EventRow, eventToRow } from "../../core/ledger/row.ts";
import type { RejectedEvent } from "./append.ts";

/** Events as a JSON list of rows. One that is not JSON, a fault of ours, must not lose the others. */
export function batchToJson(batch: readonly DecisionEvent[]): {
  readonly json: string;
  readonly rejected: readonly RejectedEvent[];
} {
  try {
    return { json: JSON.stringify(batch.map(eventToRow)), rejected: [] };
  } catch {
    const rows: string[] = [];
    const rejected: RejectedEvent[] = [];
    for (const event of batch) {
      try {
        const row: EventRow = eventToRow(event);
        rows.push(JSON.stringify(row));
      } catch (error) {
        rejected.push({ id: event.id, message: String(error) });
      }
    }
    return { json: `[${rows.join(",")}]`, rejected };
  }
}
