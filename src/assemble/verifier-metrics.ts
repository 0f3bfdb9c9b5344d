import type { LabelledValue, Metrics } from "../io/metrics.ts";
import type { SourceCounts } from "../io/verify/status.ts";
import type { Verifier } from "../io/verify/verifier.ts";

/** Publishes what the verifier counts: its sources by bot, and its lookups (contract 9). */
export function publishVerifier(metrics: Metrics, verifier: Verifier): void {
  const bySource = (name: string, help: string, read: (of: SourceCounts) => number | undefined) =>
    metrics.gauges(`crawlwall_verifier_${name}`, help, ["bot", "source"], () =>
      verifier.sourceCounts().flatMap((of) => labelled(of, read(of))),
    );
  bySource("age_seconds", "Time since a list or key directory was read", ({ ageMs }) =>
    ageMs === undefined ? undefined : ageMs / 1000,
  );
  bySource("prefixes", "Blocks of a list, keys of a directory", ({ entries }) => entries);
  bySource("failures", "Readings that failed since the start", ({ failures }) => failures);
  const dns = (name: string, help: string, read: () => number): void =>
    metrics.gauge(`crawlwall_dns_${name}`, help, read);
  dns("lookups", "Reverse lookups started", () => verifier.dnsCounts().lookups);
  dns("failed", "Reverse lookups that got no answer", () => verifier.dnsCounts().failed);
  dns("refused_busy", "Checks turned away while too many were running", () => {
    return verifier.dnsCounts().refusedBusy;
  });
  dns("in_flight", "Reverse lookups running", () => verifier.dnsCounts().inFlight);
  dns("cached", "Addresses whose answer is kept", () => verifier.dnsCounts().cached);
}

function labelled(of: SourceCounts, value: number | undefined): readonly LabelledValue[] {
  return value === undefined ? [] : [{ labels: [of.botId, of.source], value }];
}
