import type { Proof } from "../../core/bot/proof.ts";
import type { Address } from "../../core/cidr.ts";
import type { ListSource } from "./list-source.ts";
import { listState, type RangesMeans } from "./plan.ts";

/** Looks an address up in the lists of a verifier: those that may be believed now. */
export function lookUpLists(means: RangesMeans, address: Address, nowMs: number): Proof {
  let cause: string | undefined;
  for (const source of means.sources) {
    const believed = believedList(source, means, nowMs);
    if (believed === undefined) {
      cause ??= describeUnusable(source, means, nowMs);
      continue;
    }
    const prefix = believed.list.set.find(address);
    if (prefix === undefined) continue;
    const { label } = source.origin;
    const evidence = { ip_ranges: { list: label, version: believed.version, prefix } };
    return { verification: "verified", evidence, cause: undefined };
  }
  if (cause === undefined) return notListed(means);
  return { verification: "unavailable", evidence: { ip_ranges: { reason: cause } }, cause };
}

/** Whether a list that may be believed now holds the address. */
export function holdsAddress(means: RangesMeans, address: Address, nowMs: number): boolean {
  return means.sources.some(
    (source) => believedList(source, means, nowMs)?.list.set.find(address) !== undefined,
  );
}

function believedList(
  source: ListSource,
  means: RangesMeans,
  nowMs: number,
): ReturnType<ListSource["held"]> {
  const state = listState(source, means.verifier, nowMs);
  return state === "fresh" || state === "stale" ? source.held() : undefined;
}

function describeUnusable(source: ListSource, means: RangesMeans, nowMs: number): string {
  const state = listState(source, means.verifier, nowMs);
  const error = source.error();
  return `${source.origin.label}: ${state}${error === undefined ? "" : ` (${error})`}`;
}

function notListed(means: RangesMeans): Proof {
  const lists = means.sources.map((source) => ({
    list: source.origin.label,
    version: source.held()?.version,
  }));
  const evidence = { ip_ranges: { reason: "not listed", lists } };
  return { verification: "refuted", evidence, cause: undefined };
}
