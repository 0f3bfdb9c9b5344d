import type { Path } from "../yaml/document.ts";
import { faultAt } from "../yaml/schema-faults.ts";
import type { CompiledText, PolicyWorld } from "./compile-text.ts";
import type { Warning } from "./fault.ts";

/** Files that a policy names and that are not there: a start or a list would fail for them. */
export function missingFiles(
  { result, document, botIndexes }: CompiledText,
  world: PolicyWorld,
): readonly Warning[] {
  const { hasFile } = world;
  if (result.kind === "faulty" || document === undefined || hasFile === undefined) return [];
  const { file, receipts, bots } = result.policy;
  const keys: readonly Named[] =
    receipts.keyFile === undefined || !receipts.enabled
      ? []
      : [{ name: receipts.keyFile, path: ["receipts", "signer", "key_file"] }];
  const lists = bots.flatMap(({ id, verifiers }) =>
    verifiers
      .flatMap((verifier) => (verifier.kind === "ip_ranges" ? verifier.sources : []))
      .flatMap((source): readonly Named[] => {
        const path = ["bots", botIndexes.get(id) ?? 0, "verify"];
        return source.kind === "file" ? [{ name: source.file, path }] : [];
      }),
  );
  return [...keys, ...lists]
    .filter(({ name }) => !hasFile(file, name))
    .map(({ name, path }) => ({
      ...faultAt(
        document,
        path,
        `\`${name}\` is not there; paths start at the policy's own folder`,
      ),
      code: "missing_file",
    }));
}

interface Named {
  readonly name: string;
  readonly path: Path;
}
