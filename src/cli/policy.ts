import type { Command } from "commander";
import { registerPolicyCheck } from "./policy-check.ts";
import { registerPolicyEval } from "./policy-eval.ts";
import { registerPolicySchema } from "./policy-schema.ts";
import { registerPolicyTest } from "./policy-test.ts";

/** `crawlwall policy …`: what can be done with a policy before it serves. */
export function registerPolicy(program: Command): void {
  const policy = program.command("policy").description("check a policy and try it out");
  registerPolicyCheck(policy);
  registerPolicyEval(policy);
  registerPolicyTest(policy);
  registerPolicySchema(policy);
}
