import { compilePolicy } from "../../src/core/policy/compile.ts";
import { formatFault } from "../../src/core/policy/fault.ts";
import type { Policy } from "../../src/core/policy/policy.ts";

/** Compiles a policy that a test wrote; throws with its faults when it is wrong. */
export function policyFrom(text: string): Policy {
  const compiled = compilePolicy({ file: "test.yaml", text }, { catalog: new Map() });
  if (compiled.kind === "faulty") throw new Error(compiled.errors.map(formatFault).join("\n"));
  return compiled.policy;
}
